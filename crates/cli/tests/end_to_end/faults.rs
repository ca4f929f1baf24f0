//! Every fault of an answer in every dialect, over real sockets. The outcome is the same in all dialects, except for
//! the differences in `expected`.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use inferometer_model::pooled::is_pooling;
use inferometer_wire::dialect::dialects;
use serde_json::{Value, json};

use crate::support::{folder, inferometer, is_generation, told};
use crate::tiny_server;

/// The number of generation requests that are sent to a server before a run, to identify it.
const QUESTIONS: usize = 2;
pub const WORDS: [&str; 4] = [" w0", " w1", " w2", " w3"];

/// The messages of a stream of four words in a dialect, each exactly as in the HTTP body.
pub fn messages(dialect: &str, prompt: &str) -> Vec<String> {
    let event = |value: Value| format!("data: {value}\n\n");
    let named = |value: Value| {
        let kind = value["type"].as_str().expect("it has a type").to_owned();
        format!("event: {kind}\n{}", event(value))
    };
    let so_far = |count: usize| WORDS[..count].concat();
    let done = || "data: [DONE]\n\n".to_owned();
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 4, "total_tokens": 14});
    let each = |message: &dyn Fn(usize) -> String| (0..4).map(message).collect::<Vec<_>>();
    let (first, words, last) = match dialect {
        "openai-completions" => {
            let choice = |text: &str, why: Option<&str>| json!({"choices": [{"index": 0, "text": text, "finish_reason": why}]});
            let last = json!({"choices": [], "usage": usage});
            let words = each(&|at| event(choice(WORDS[at], None)));
            (vec![], words, vec![event(choice("", Some("length"))), event(last), done()])
        }
        "openai-chat" => {
            let choice = |delta: Value, why: Option<&str>| {
                event(json!({"choices": [{"index": 0, "delta": delta, "finish_reason": why}]}))
            };
            let last = event(json!({"choices": [], "usage": usage}));
            let words = each(&|at| choice(json!({"content": WORDS[at]}), None));
            let role = choice(json!({"role": "assistant", "content": ""}), None);
            (vec![role], words, vec![choice(json!({}), Some("length")), last, done()])
        }
        "openai-responses" => {
            let usage = json!({"input_tokens": 10, "output_tokens": 4, "total_tokens": 14});
            let content = json!([{"type": "output_text", "text": so_far(4)}]);
            let output = json!([{"type": "message", "content": content}]);
            let response = json!({"status": "completed", "usage": usage, "output": output});
            let begun = json!({"type": "response.created", "response": {"status": "in_progress"}});
            let delta = |at: usize| {
                named(json!({"type": "response.output_text.delta", "delta": WORDS[at]}))
            };
            let last = named(json!({"type": "response.completed", "response": response}));
            (vec![named(begun)], each(&delta), vec![last])
        }
        "anthropic" => {
            let usage = json!({"input_tokens": 10, "output_tokens": 1});
            let begun = json!({"type": "message_start", "message": {"usage": usage}});
            let delta = |at: usize| {
                let delta = json!({"type": "text_delta", "text": WORDS[at]});
                named(json!({"type": "content_block_delta", "index": 0, "delta": delta}))
            };
            let (why, usage) = (json!({"stop_reason": "max_tokens"}), json!({"output_tokens": 4}));
            let last = [
                named(json!({"type": "message_delta", "delta": why, "usage": usage})),
                named(json!({"type": "message_stop"})),
            ];
            (vec![named(begun)], each(&delta), last.to_vec())
        }
        "sglang" => {
            let message = |at: usize| {
                let why = (at == 3).then(|| json!({"type": "length", "length": 4}));
                let meta =
                    json!({"prompt_tokens": 10, "completion_tokens": at + 1, "finish_reason": why});
                event(json!({"text": so_far(at + 1), "meta_info": meta}))
            };
            (vec![], each(&message), vec![done()])
        }
        "tgi" => {
            let message = |at: usize| {
                let token = json!({"id": at, "text": WORDS[at], "logprob": -1.0, "special": false});
                let why =
                    json!({"finish_reason": "length", "generated_tokens": 4, "input_length": 10});
                let is_last = at == 3;
                let text = is_last.then(|| so_far(4));
                event(
                    json!({"token": token, "generated_text": text, "details": is_last.then_some(why)}),
                )
            };
            (vec![], each(&message), vec![])
        }
        "llama-cpp" => {
            let message = |at: usize| {
                event(
                    json!({"content": WORDS[at], "tokens": [at], "stop": false, "tokens_predicted": at + 1}),
                )
            };
            let last = json!({"content": "", "stop": true, "stop_type": "limit", "tokens_predicted": 4,
                "tokens_evaluated": 10, "tokens": []});
            (vec![], each(&message), vec![event(last)])
        }
        "ollama" => {
            let message = |at: usize| {
                let message = json!({"role": "assistant", "content": WORDS[at]});
                format!("{}\n", json!({"model": "m", "message": message, "done": false}))
            };
            let empty = json!({"role": "assistant", "content": ""});
            let last = json!({"model": "m", "message": empty, "done": true, "done_reason": "length",
                "prompt_eval_count": 10, "eval_count": 4});
            (vec![], each(&message), vec![format!("{last}\n")])
        }
        "triton" => (vec![], each(&|at| event(json!({"text_output": WORDS[at]}))), vec![]),
        "vllm" => {
            let message = |at: usize| {
                format!("{}\0", json!({"text": [format!("{prompt}{}", so_far(at + 1))]}))
            };
            (vec![], each(&message), vec![])
        }
        _ => panic!("{dialect}: add the messages of this dialect here"),
    };
    [first, words, last].concat()
}

fn chunks(messages: &[String]) -> String {
    messages.iter().map(|message| format!("{:x}\r\n{message}\r\n", message.len())).collect()
}

const STREAM: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: \
                      chunked\r\nconnection: close\r\n\r\n";

pub fn stream(messages: &[String]) -> String {
    unended(messages) + "0\r\n\r\n"
}

fn unended(messages: &[String]) -> String {
    // A stream of JSON has another content type; vLLM's own stream has none.
    let head = match messages.first().is_some_and(|first| is_json(first)) {
        true => STREAM.replace("content-type: text/event-stream\r\n", ""),
        false => STREAM.to_owned(),
    };
    head + &chunks(messages)
}

/// Whether a message is JSON that ends with one byte, not an event.
fn is_json(message: &str) -> bool {
    message.starts_with('{')
}

pub fn whole(status: &str, kind: &str, body: &str) -> String {
    tiny_server::whole(&format!("{status}\r\ncontent-type: {kind}"), body)
}

/// A stream with an additional message in its middle. If the stream has no event framing, only the data is added.
fn with(messages: &[String], message: &str) -> String {
    let (before, after) = messages.split_at(messages.len() / 2);
    let delimiter = &messages[0][messages[0].len() - 1..];
    let delimited = message.trim().trim_start_matches("data: ").to_owned() + delimiter;
    let message = if is_json(&messages[0]) { &delimited } else { message };
    stream(&[before, &[message.to_owned()], after].concat())
}

/// A stream in which `count` replaces each count of output tokens.
fn counting(messages: &[String], count: &str) -> String {
    let fields = [
        "completion_tokens", "output_tokens", "generated_tokens", "tokens_predicted", "eval_count",
    ];
    let with_count = |message: &String| {
        let places = fields.iter().flat_map(|field| (1..=4).map(move |n| (field, n)));
        places.fold(message.clone(), |message, (field, n)| {
            message.replace(&format!("\"{field}\":{n}"), &format!("\"{field}\":{count}"))
        })
    };
    stream(&messages.iter().map(with_count).collect::<Vec<_>>())
}

/// A stream that ends with this finish reason.
fn ending(messages: &[String], reason: &str) -> String {
    let usual = ["length", "max_tokens", "limit", "completed"];
    let with_reason = |message: &String| {
        usual.iter().fold(message.clone(), |message, usual| {
            message.replace(&format!(":\"{usual}\""), &format!(":\"{reason}\""))
        })
    };
    stream(&messages.iter().map(with_reason).collect::<Vec<_>>())
}

/// A stream whose last message lacks its last bytes, which end its lines.
fn ending_early(messages: &[String], bytes: usize) -> String {
    let mut messages = messages.to_vec();
    let last = messages.last_mut().expect("a message");
    let bytes = if is_json(last) { 1 } else { bytes };
    last.truncate(last.len() - bytes);
    stream(&messages)
}

/// The same messages with an empty text for each word.
fn without_words(messages: &[String]) -> Vec<String> {
    let empty = |message: &String| {
        WORDS.iter().fold(message.clone(), |message, word| message.replace(word, ""))
    };
    messages.iter().map(empty).collect()
}

/// The same messages without those of the first three words, and with an empty text instead of the last one.
fn without_output(messages: &[String]) -> Vec<String> {
    let first = messages.iter().position(|message| message.contains(WORDS[0]));
    let mut left = without_words(messages);
    let first = first.expect("a word");
    left.drain(first..first + 3);
    left
}

/// Creates what a server sends before it closes the connection, from the messages of a correct answer.
type Sends = fn(&[String]) -> String;

/// Each fault: its name, the bytes that are sent, and the expected outcome.
const FAULTS: &[(&str, Sends, &str)] = &[
    ("no fault", |all| stream(all), "complete"),
    ("a comment and an empty event", |all| with(all, ": still here\n\n\n"), "complete"),
    ("closed before the head", |_| String::new(), "connection"),
    ("closed in the head", |_| STREAM[..40].to_owned(), "truncated"),
    ("closed before the body", |_| STREAM.to_owned(), "truncated"),
    (
        "closed in a message",
        |all| STREAM.to_owned() + &chunks(all)[..chunks(all).len() / 2],
        "truncated",
    ),
    ("no end of the stream", |all| stream(&all[..all.len() / 2]), "truncated"),
    ("an empty stream", |_| stream(&[]), "truncated"),
    ("no end of the chunks", |all| unended(all), "complete"),
    ("a chunk without a size", |_| format!("{STREAM}tea\r\n"), "malformed"),
    ("a chunk of 2^70 bytes", |_| format!("{STREAM}1000000000000000000\r\n"), "malformed"),
    ("no HTTP", |_| "what?\r\n\r\n".to_owned(), "malformed"),
    ("a web page", |_| whole("200 OK", "text/html", "<html>Sign in</html>"), "malformed"),
    ("incomplete JSON", |all| with(all, "data: {\"choices\": [{\n\n"), "malformed"),
    ("a number out of range", |all| with(all, "data: {\"index\": 1e999}\n\n"), "malformed"),
    (
        "an error in the stream",
        |all| with(all, "data: {\"error\": {\"message\": \"out of tea\", \"code\": 500}}\n\n"),
        "server_error",
    ),
    (
        "an error event",
        |all| with(all, "event: error\ndata: {\"message\": \"out of tea\"}\n\n"),
        "server_error",
    ),
    (
        "an error event that is a comment",
        |all| with(all, "event: error\n: out of tea\n\n"),
        "server_error",
    ),
    ("an error field", |all| with(all, "error: {\"message\": \"out of tea\"}\n\n"), "server_error"),
    (
        "an error without a name",
        |all| {
            let error = json!({"message": "out of tea", "type": "internal", "code": 500});
            with(all, &format!("data: {error}\n\n"))
        },
        "server_error",
    ),
    (
        "an error object",
        |all| with(all, "data: {\"object\": \"error\", \"message\": \"out of tea\"}\n\n"),
        "server_error",
    ),
    ("the reason abort", |all| ending(all, "abort"), "server_error"),
    ("the reason error", |all| ending(all, "error"), "server_error"),
    ("the reason cancelled", |all| ending(all, "cancelled"), "server_error"),
    ("the reason failed", |all| ending(all, "failed"), "server_error"),
    ("an unknown reason", |all| ending(all, "tea_time"), "complete"),
    ("the reason repetition", |all| ending(all, "repetition"), "complete"),
    ("skipped: a type", |all| with(all, "data: {\"type\": \"ping\"}\n\n"), "complete"),
    (
        "skipped: an event with a message",
        |all| with(all, "event: ping\ndata: {\"type\": \"ping\", \"message\": \"tea\"}\n\n"),
        "complete",
    ),
    ("skipped: an event of text", |all| with(all, "event: heartbeat\ndata: tea\n\n"), "complete"),
    ("skipped: no data", |all| with(all, "data:\n\n"), "complete"),
    ("skipped: nothing", |all| with(all, "data: {}\n\n"), "complete"),
    (
        "skipped: no choices",
        |all| with(all, "data: {\"id\": \"c\", \"object\": \"tea\"}\n\n"),
        "complete",
    ),
    ("skipped: null choices", |all| with(all, "data: {\"choices\": null}\n\n"), "complete"),
    (
        "skipped: a null delta",
        |all| with(all, "data: {\"choices\": [{\"delta\": null}]}\n\n"),
        "complete",
    ),
    (
        "skipped: a content filter",
        |all| {
            with(all, "data: {\"choices\": [{\"index\": 0, \"content_filter_offsets\": {}}]}\n\n")
        },
        "complete",
    ),
    (
        "skipped: after the end",
        |all| stream(&[all, &["data: {}\n\n".to_owned()]].concat()),
        "complete",
    ),
    ("output after the end", |all| stream(&[all, &all[1..2]].concat()), "malformed"),
    ("only the end mark", |_| stream(&["data: [DONE]\n\n".to_owned()]), "malformed"),
    ("the last line without its end", |all| ending_early(all, 2), "complete"),
    ("no empty line at the end", |all| ending_early(all, 1), "complete"),
    ("texts that are empty", |all| stream(&without_words(all)), "complete"),
    ("no output", |all| stream(&without_output(all)), "complete"),
    ("a count of 0", |all| counting(all, "0"), "complete"),
    ("a count of 2^32 - 1", |all| counting(all, "4294967295"), "complete"),
    ("a count of 2^32", |all| counting(all, "4294967296"), "complete"),
    ("a count of -1", |all| counting(all, "-1"), "complete"),
    ("a count of 8.5", |all| counting(all, "8.5"), "complete"),
    ("a count as text", |all| counting(all, "\"4\""), "complete"),
    ("400", |_| whole("400 Bad Request", "application/json", "{\"error\": \"no\"}"), "rejected"),
    ("429", |_| whole("429 Too Many Requests", "text/plain", "later"), "rejected"),
    ("500", |_| whole("500 Internal Server Error", "application/json", "{}"), "rejected"),
    ("302", |_| whole("302 Found", "text/html", ""), "rejected"),
    ("204", |_| "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n".to_owned(), "truncated"),
];

/// The expected outcome of a fault in a dialect, if it differs from `FAULTS`. Triton and vLLM have no message that ends
/// a stream, so only HTTP shows that an answer is complete.
fn expected(dialect: &str, fault: &str) -> Option<&'static str> {
    match (dialect, fault) {
        ("triton" | "vllm", "no end of the stream") => Some("complete"),
        ("triton" | "vllm", "no end of the chunks") => Some("truncated"),
        // These dialects have no finish reasons.
        ("triton" | "vllm", _) if fault.starts_with("the reason ") => Some("complete"),
        // Without a message that ends a stream, nothing comes after its end.
        ("triton", "output after the end") => Some("complete"),
        // These streams consist only of JSON, without comments and names of events.
        ("vllm" | "ollama", "skipped: an event with a message" | "skipped: an event of text")
        | ("vllm" | "ollama", "skipped: no data" | "skipped: after the end")
        | ("vllm" | "ollama", "a comment and an empty event" | "an error event")
        | ("vllm" | "ollama", "an error event that is a comment" | "an error field")
        | ("vllm" | "ollama", "an empty stream") => Some("malformed"),
        _ => None,
    }
}

/// Starts a server and returns its address. The server answers the first `QUESTIONS` generations, which belong to the
/// identification before the run, without a fault. It answers the n-th later generation with the n-th fault. The server
/// runs until the process of the test ends.
fn serve(dialect: &'static str) -> String {
    let generations = AtomicUsize::new(0);
    tiny_server::serve(move |asked| {
        if !is_generation(asked) {
            return whole("404 Not Found", "application/json", "{}");
        }
        let body = serde_json::from_str::<Value>(&asked.body).unwrap_or_default();
        let all = messages(dialect, body["prompt"].as_str().unwrap_or_default());
        let number = generations.fetch_add(1, SeqCst).checked_sub(QUESTIONS);
        let fault = number.and_then(|at| FAULTS.get(at));
        fault.map_or_else(|| stream(&all), |(_, sends, _)| sends(&all))
    })
}

#[test]
fn every_fault_gives_the_expected_outcome_in_every_dialect() {
    let mut wrong = Vec::new();
    let all = dialects().iter().map(|dialect| dialect.name);
    for dialect in all.filter(|dialect| !is_pooling(dialect)) {
        let (folder, url, count) = (folder(), serve(dialect), FAULTS.len().to_string());
        let target = ["run", "--target", &url, "--dialect", dialect, "--model", "m", "--yes"];
        let cell = ["--input-lengths", "10", "--output-lengths", "4", "--warmup", "0"];
        let load = ["--passes", "one_by_one", "--one-by-one", &count];
        let run = inferometer(folder.path(), &[&target[..], &cell, &load].concat());
        let rows = inferometer(folder.path(), &["export", "--format", "jsonl"]);
        let rows = String::from_utf8(rows.stdout).unwrap();
        let rows: Vec<Value> =
            rows.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(rows.len(), FAULTS.len(), "{dialect}: {}", told(&run));
        for ((fault, _, usual), row) in FAULTS.iter().zip(&rows) {
            let (outcome, detail) = (row["outcome"].as_str(), &row["detail"]);
            let expected = expected(dialect, fault).unwrap_or(usual);
            let says_why = expected != "server_error" || {
                let detail = detail.as_str().unwrap_or_default();
                detail.contains("out of tea") || fault.starts_with("the reason ")
            };
            let is_counted =
                !["a count", "skipped", "the last line"].iter().any(|of| fault.starts_with(of))
                    || expected != "complete"
                    || row["output_tokens"] == 4;
            if outcome != Some(expected) || !says_why || !is_counted {
                wrong.push(format!(
                    "{dialect}, {fault}: {outcome:?} instead of {expected}, {} tokens: {detail}",
                    row["output_tokens"]
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
