//! `record` passes requests on byte for byte, and what it writes is played by `run`.

use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{command, folder, inferometer, told, wait_until};
use crate::tiny_server::{Part, Request, serve, serve_in_parts, whole};

/// A recording in progress.
struct Recording {
    child: Child,
    stdout: BufReader<ChildStdout>,
    errors: Lines<BufReader<ChildStderr>>,
    address: String,
}

impl Recording {
    fn start(folder: &Path, target: &str, more: &[&str]) -> Self {
        let mut child = command(folder)
            .args(["record", "--target", target, "--listen", "127.0.0.1:0"])
            .args(more)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        stdout.read_line(&mut line).expect("a line");
        let address = line.strip_prefix("listening on http://").and_then(|it| it.split(',').next());
        let address = address.expect("an address").to_owned();
        let errors = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        Self { child, stdout, errors, address }
    }

    /// Sends a request, and returns the answer as it came.
    fn post(&self, path: &str, body: &str) -> String {
        let mut stream = self.send(path, body);
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }

    fn send(&self, path: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        let length = body.len();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: relay\r\nauthorization: Bearer sk-planted-key\r\n\
                accept-encoding: gzip\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
        );
        stream.write_all([head.as_bytes(), body.as_bytes()].concat().as_slice()).expect("it reads");
        stream
    }

    /// Interrupts it. Returns its exit code and all that it printed.
    fn end(mut self) -> (Option<i32>, String) {
        let id = self.child.id().to_string();
        std::process::Command::new("kill").args(["-INT", &id]).status().expect("kill");
        let mut printed = String::new();
        self.stdout.read_to_string(&mut printed).expect("text");
        printed.extend(self.errors.by_ref().map_while(Result::ok));
        (self.child.wait().expect("it ends").code(), printed)
    }
}

/// A stream of chat chunks with these deltas, and usage at the end if the request asks for it.
fn chat(request: &Request) -> String {
    let body: Value = serde_json::from_str(&request.body).unwrap_or_default();
    let messages = body["messages"].as_array().map_or(0, Vec::len);
    let chunk = |choices: Value, usage: Value| {
        let chunk = json!({"id": format!("c{messages}"), "object": "chat.completion.chunk",
            "choices": choices, "usage": usage});
        format!("data: {chunk}\n\n")
    };
    let delta = |delta: Value, finish: Option<&str>| {
        let choices = json!([{ "index": 0, "delta": delta, "finish_reason": finish }]);
        chunk(choices, Value::Null)
    };
    let mut text = String::new();
    if messages < 3 {
        let call = json!([{"index": 0, "id": "t", "type": "function",
            "function": {"name": "read", "arguments": "{}"}}]);
        text += &delta(json!({"role": "assistant", "tool_calls": call}), Some("tool_calls"));
    } else {
        text += &delta(json!({"role": "assistant", "content": "both"}), None);
        text += &delta(json!({"content": " agree"}), Some("stop"));
    }
    if body["stream_options"]["include_usage"] == true {
        let prompt = 100 * messages;
        text += &chunk(
            json!([]),
            json!({"prompt_tokens": prompt, "completion_tokens": 7,
            "prompt_tokens_details": {"cached_tokens": 16}}),
        );
    }
    whole("200 OK\r\ncontent-type: text/event-stream", &(text + "data: [DONE]\n\n"))
}

fn body(messages: &[Value]) -> String {
    json!({"model": "m", "stream": true, "messages": messages}).to_string()
}

#[test]
fn answers_pass_unchanged_and_the_recorded_calls_can_be_played() {
    let server = serve(chat);
    let folder = folder();
    let first = [
        json!({"role": "system", "content": "careful ".repeat(50)}),
        json!({"role": "user", "content": "compare my secret files"}),
    ];
    let tool = [
        json!({"role": "assistant", "tool_calls": [{"id": "t", "type": "function",
        "function": {"name": "read", "arguments": "{}"}}]}),
        json!({"role": "tool", "tool_call_id": "t", "content": "short"}),
    ];
    let second = [&first[..], &tool].concat();
    let recording = Recording::start(folder.path(), &server, &["--ask-usage"]);
    let plain = |text: &str| Request { head: String::new(), body: text.to_owned() };
    let asked = |text: &str| text.replacen('{', "{\"stream_options\":{\"include_usage\":true},", 1);
    for messages in [&first[..], &second] {
        let body = body(messages);
        let answer = recording.post("/v1/chat/completions", &body);
        assert_eq!(answer, chat(&plain(&asked(&body))));
    }
    recording.post("/v1/other", "{}");
    let file = folder.path().join("recorded.jsonl");
    wait_until("both rows", || {
        std::fs::read_to_string(&file).is_ok_and(|it| it.lines().count() == 2)
    });
    let (code, printed) = recording.end();
    assert_eq!(code, Some(0), "{printed}");
    assert!(printed.contains("2 calls in recorded.jsonl"), "{printed}");
    assert!(printed.contains("1 x no call of a model"), "{printed}");
    let rows = std::fs::read_to_string(&file).expect("rows");
    assert!(!rows.contains("sk-planted-key") && !rows.contains("secret files"), "{rows}");
    let rows: Vec<Value> =
        rows.lines().map(|row| serde_json::from_str(row).expect("JSON")).collect();
    let get = |key: &str| rows.iter().map(|row| row[key].clone()).collect::<Vec<_>>();
    assert_eq!(get("input_length"), [200, 400]);
    assert_eq!(get("output_length"), [7, 7]);
    assert_eq!(get("prefix_tokens"), [16, 16]);
    assert_eq!(get("wait_for"), [json!([]), json!(["call-1"])]);
    assert!(rows[1]["tool_wait_ms"].as_f64().is_some_and(|ms| ms >= 0.0), "{}", rows[1]);
    let more = ["--workload", "agents", "--dataset", "recorded.jsonl", "--json", "--quiet"];
    let played = inferometer(folder.path(), &[&["predict"][..], &more].concat());
    let summary: Value = serde_json::from_slice(&played.stdout).expect("JSON");
    assert_eq!(summary["cells"][0]["passes"][0]["jobs"]["complete"], 1, "{}", told(&played));
}

#[test]
fn what_fails_is_told_to_its_client_counted_and_not_recorded() {
    let server = serve_in_parts(|request: &Request| -> Vec<Part> {
        let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\
            content-length: 5000\r\n\r\n"
            .to_owned();
        match request.body.as_str() {
            text if text.contains("refuse") => {
                vec![
                    whole("429 Too Many Requests", "{\"error\":{\"message\":\"slow down\"}}")
                        .into(),
                ]
            }
            text if text.contains("cut") => vec![head.into()],
            _ => vec![head.into(), Duration::from_secs(600).into()],
        }
    });
    let folder = folder();
    let recording = Recording::start(folder.path(), &server, &[]);
    let ask = |word: &str| body(&[json!({"role": "user", "content": word})]);
    let refused = recording.post("/v1/chat/completions", &ask("refuse"));
    assert!(refused.starts_with("HTTP/1.1 429 ") && refused.contains("slow down"), "{refused}");
    recording.post("/v1/chat/completions", &ask("cut"));
    // A client that leaves while its server is silent.
    let mut stream = recording.send("/v1/chat/completions", &ask("leave"));
    stream.read_exact(&mut [0; 8]).expect("a head");
    drop(stream);
    let garbled = recording.post("/v1/chat/completions", "no JSON: refuse");
    assert!(garbled.starts_with("HTTP/1.1 429 "), "the relay does not judge: {garbled}");
    let mut recording = recording;
    let lines = recording.errors.by_ref().map_while(Result::ok);
    let lines: Vec<String> = lines.take(3).collect();
    assert!(lines[2].ends_with("the client left"), "{lines:?}");
    let (code, printed) = recording.end();
    assert_eq!(code, Some(1), "{printed}");
    for words in [
        "1 x HTTP 429",
        "1 x the answer broke off: the server closed the connection",
        "1 x the client left",
        "not JSON",
        "no call was recorded",
    ] {
        assert!(printed.contains(words), "{words}: {printed}");
    }

    let gone = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        format!("http://{}", listener.local_addr().expect("an address"))
    };
    let cases: [(&[&str], &str); 4] = [
        (&["--target", &gone], "Connection refused"),
        (&["--target", &server, "--listen", "0.0.0.0:0"], "no loopback address"),
        (&["--target", &server, "--out", "recorded.jsonl"], "give the name of a new file"),
        (&["--target", "ftp://x"], "--target ftp://x"),
    ];
    for (arguments, expected) in cases {
        let output = inferometer(folder.path(), &[&["record"][..], arguments].concat());
        assert!(!output.status.success() && told(&output).contains(expected), "{}", told(&output));
    }
}
