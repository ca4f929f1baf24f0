//! An API key is sent only to the server. The key must not appear in the store, the log, a report or an error, even if
//! the server quotes the key or a part of it, or if the user gives the key in a wrong place.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{BINARY, folder, is_generation};
use crate::tiny_server::{serve, whole};

mod refused;

const KEY: &str = "sk-very-secret-7f3a9c";
/// The visible part of a key if a server masks the rest.
const BEGINNING: &str = "sk-very-";
const TENANT: &str = "tenant-hush-5512";
/// Parts of the secrets of these tests, and parts of their spellings.
const PARTS: [&str; 12] = [
    KEY, BEGINNING, "secret-7f3a9c", "#101;", "%65", "%2565", "u0065", "u0072", "ZXJ5LXNlY3JldC",
    TENANT, "hf_hush_", "of-an-argument",
];
/// The placeholder of the key in the answers below.
const IN: &str = "KEY";

/// For each kind of server: the paths of requests for facts about the server, each with the body of the answer.
const KINDS: [&[(&str, &str)]; 5] = [
    &[
        (
            "/v1/models",
            r#"{"data":[{"id":"m","owned_by":"vllm","root":"KEY","max_model_len":"KEY",
            "simulated":{"KEY":"KEY"}},{"id":"KEY"}]}"#,
        ),
        ("/version", r#"{"version":"1.0-KEY"}"#),
        ("/metrics", "# HELP KEY KEY\nvllm:num_requests_running{model_name=\"KEY\"} 1\n"),
        ("/tokenize", r#"{"error":"no KEY"}"#),
    ],
    &[("/info", r#"{"model_id":"m","version":"KEY","sha":"KEY","model_dtype":"KEY"}"#)],
    &[
        ("/v1/models", r#"{"data":[{"id":"m","owned_by":"sglang"}]}"#),
        ("/get_model_info", r#"{"model_path":"KEY","version":"KEY","model_type":"sk-very-se***"}"#),
    ],
    &[
        ("/v1/models", r#"{"data":[{"id":"m","owned_by":"llamacpp","meta":{"ftype":"KEY"}}]}"#),
        (
            "/props",
            r#"{"default_generation_settings":{"n_ctx":"KEY"},"build_info":"KEY",
            "model_path":"KEY","total_slots":"KEY"}"#,
        ),
    ],
    &[("/v1/models", r#"{"data":[{"id":"m"}]}"#), ("/metrics", "KEY")],
];

/// Answers to generation requests, in the order in which the server sends them. The program shortens texts to 80, 100
/// or 500 characters. The dots before a key make the program cut the text inside the key.
fn answers() -> Vec<String> {
    let dots = |count: usize| ".".repeat(count);
    let http = |status: &str, kind: &str, body: String| {
        format!(
            "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nx-key: KEY\r\n\
             connection: close\r\n\r\n{body}",
            body.replace(IN, KEY).len()
        )
    };
    let stream = |body: String| http("200 OK", "text/event-stream", body);
    let choice = |choice: String| stream(format!("data: {{\"choices\":[{{{choice}}}]}}\n\n"));
    let json = "application/json";
    vec![
        http("401 Unauthorized", json, format!(r#"{{"error":{{"message":"{}KEY"}}}}"#, dots(490))),
        http("500 Oops", "text/plain", format!("{}KEY", dots(485))),
        http("422 No", json, r#"{"detail":[{"loc":["KEY"],"msg":"KEY"},{"msg":"KEY"}]}"#.into()),
        http("400 No", json, format!(r#"{{"message":"{}\u0073k-very-secret-7f3a9c"}}"#, dots(490))),
        http("403 KEY", "text/plain", "Incorrect API key provided: sk-very-*****3a9c".into()),
        http("200 OK", "text/html", format!("{}KEY", dots(70))),
        choice(format!("\"text\":\"a\",\"finish_reason\":\"{}KEY\"", dots(90))),
        choice("\"text\":\"KEY\",\"finish_reason\":\"abort\"".into()),
        choice("\"text\":\"KEY sk-ve\"".into()),
        stream(format!("data: {{\"choices\":\"{}KEY\"}}\n\n", dots(55))),
        stream(format!("data: {{\"error\":{{\"message\":\"{}KEY\"}}}}\n\n", dots(490))),
        stream(format!("event: error\ndata: {}KEY\n\n", dots(490))),
        stream(format!("data: {}KEY\n\n", dots(70))),
        format!("SSH-2.0 {}KEY\r\n\r\n", dots(60)),
        "HTTP/1.1 200 OK\r\ncontent-length: KEY\r\n\r\n".to_owned(),
        format!("HTTP/1.1 500 No\r\ncontent-length: 900\r\n\r\n{}{BEGINNING}sec", dots(480)),
        http("500 No", "text/html", spellings().concat()),
        http("500 No", json, format!(r#"{{"error":{{"message":{:?}}}}}"#, spellings().concat())),
    ]
}

/// The key as web pages, URLs, JSON and base64 may spell it.
fn spellings() -> Vec<String> {
    let each = |spelled: &dyn Fn(u8) -> String| KEY.bytes().map(spelled).collect::<String>();
    let one_by_one = [
        each(&|c| format!("&#{c};")),
        each(&|c| format!("&#x{c:02X};")),
        each(&|c| format!("&amp;#0{c};")),
        each(&|c| format!("%{c:02x}")),
        each(&|c| format!("%25{c:02X}")),
        each(&|c| format!("\\u{c:04x}")),
        each(&|c| format!("\\\\u{c:04X}")),
        each(&|c| format!("\\x{c:02x}")),
    ];
    let minus = ["&#45;", "&#x2d;", "&#45", "&hyphen;", "%2D", r"\u002d", r"\-"];
    let minus = minus.map(|spelled| KEY.replacen("-s", &format!("{spelled}s"), 1));
    // The key behind nothing, a colon, and two spaces.
    let base64 = [
        "c2stdmVyeS1zZWNyZXQtN2YzYTlj",
        "OnNrLXZlcnktc2VjcmV0LTdmM2E5Yw==",
        "ICBzay12ZXJ5LXNlY3JldC03ZjNhOWM=",
    ];
    let base64 = base64.map(str::to_owned);
    one_by_one.into_iter().chain(minus).chain(base64).map(|one| format!(" ({one})")).collect()
}

/// Starts a server of the given kind. All its answers to the requests for facts and for generations include the key or
/// a part of it. Returns its address.
fn telling_server(kind: &'static [(&str, &str)]) -> String {
    let answers = answers();
    let posted = AtomicUsize::new(0);
    serve(move |asked| {
        let found = kind.iter().find(|(known, _)| *known == asked.path());
        if found.is_none() && is_generation(asked) {
            let number = posted.fetch_add(1, Ordering::Relaxed);
            return answers[number % answers.len()].replace(IN, KEY);
        }
        let (status, body) = found.map_or(("404 KEY", IN), |(_, body)| ("200 OK", body));
        whole(&format!("{status}\r\nserver: KEY").replace(IN, KEY), &body.replace(IN, KEY))
    })
}

fn command(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(BINARY)
        .current_dir(folder)
        .env("OPENAI_API_KEY", KEY)
        .env("HF_TOKEN", "hf_hush_of_the_environment")
        .args(arguments)
        .output()
        .unwrap()
}

/// Checks that a command printed no secret of these tests, and that no file of a folder contains one in its content or
/// path. The beginning of the key counts as a secret.
fn assert_nowhere(what: &str, folder: &Path, output: &Output) {
    let shown = [output.stdout.clone(), output.stderr.clone()].concat();
    let shown = String::from_utf8_lossy(&shown);
    for secret in PARTS {
        assert!(!shown.contains(secret), "{what}: {shown}");
        for file in files(folder) {
            assert!(!holds(&file, secret), "{what}: {}", file.display());
            assert!(!file.to_string_lossy().contains(secret), "{what}: {}", file.display());
        }
    }
}

#[test]
fn a_key_that_the_server_returns_in_any_field_is_never_stored_or_printed() {
    for (number, kind) in KINDS.into_iter().enumerate() {
        let folder = folder();
        let url = telling_server(kind);
        let requests = answers().len().to_string();
        let tenant = format!("X-Tenant: {TENANT}");
        let run = command(
            folder.path(),
            &[
                &["run", "--target", &url, "--model", "m", "--dialect", "openai-completions"][..],
                &["--header", &tenant, "--warmup", "0", "--input-lengths", "16"],
                &["--output-lengths", "4", "--concurrency", "1", "--requests", &requests],
                &["--dump-workload", "dump.jsonl"],
            ]
            .concat(),
        );
        let what = format!("kind {number}");
        assert_eq!(run.status.code(), Some(1), "{}", String::from_utf8_lossy(&run.stderr));
        assert!(String::from_utf8_lossy(&run.stdout).contains("***"), "{what}");
        assert_nowhere(&what, folder.path(), &run);
        for again in [
            &["show", "latest"][..],
            &["runs"],
            &["report", "latest", "--out", "again"],
            &["export", "latest", "--format", "csv", "--out", "rows.csv"],
            &["export", "latest", "--format", "jsonl", "--out", "rows.jsonl"],
        ] {
            let output = command(folder.path(), again);
            assert_eq!(output.status.code(), Some(0), "{again:?}: {output:?}");
            assert_nowhere(&format!("{what}, {again:?}"), folder.path(), &output);
        }
    }
}

#[test]
fn a_launched_server_has_no_key_in_its_command_line_or_its_log() {
    let folder = folder();
    let plan = r#"
        input_lengths = [16]
        output_lengths = [4]
        passes = ["saturated"]
        requests = 2
        warmup = 0
        [server]
        command = '''echo "key $OPENAI_API_KEY"
            echo "token $HF_TOKEN"
            echo commands: $(tr '\0' ' ' < /proc/$PPID/cmdline) $(tr '\0' ' ' < /proc/$$/cmdline)
            test ${#2} -eq 43 || exit 3
            echo "arguments $@"
            set --
            exec {inferometer} engine --listen {host}:{port} --speed 100'''
        [server.arguments]
        header = "Authorization: Bearer key-of-an-argument-12"
        overrides = '{"a": {"token": "token-of-an-argument"}}'
    "#;
    fs::write(folder.path().join("plan.toml"), plan).unwrap();
    let output = command(folder.path(), &["run", "plan.toml", "--out", "out"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    fs::remove_file(folder.path().join("plan.toml")).unwrap();
    assert_nowhere("launched", folder.path(), &output);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("--header Authorization: Bearer *** --overrides"), "{told}");
    let log = fs::read_to_string(folder.path().join("out/server.log")).unwrap();
    assert!(log.starts_with("key ***\ntoken ***\n"), "{log}");
    let commands = log.lines().find(|line| line.starts_with("commands: ")).unwrap();
    assert!(commands.contains("server-guard"), "{log}");
    for again in [
        &["show", "latest"][..],
        &["show", "latest", "--plan"],
        &["report", "latest", "--out", "again"],
        &["bundle", "latest", "--out", "bundle.tar.gz"],
    ] {
        let output = command(folder.path(), again);
        assert_eq!(output.status.code(), Some(0), "{again:?}: {output:?}");
        assert_nowhere(&format!("{again:?}"), folder.path(), &output);
    }
}

#[test]
fn a_model_name_that_is_also_a_header_value_must_be_given_and_stays_unchanged() {
    let kind = &[("/v1/models", r#"{"data":[{"id":"llama-70b-chat"}]}"#)];
    let run = |model: &[&str]| {
        let (folder, url) = (folder(), telling_server(kind));
        let routed = ["run", "--target", &url, "--header", "X-Route: llama-70b-chat"];
        let load = ["--input-lengths", "16", "--output-lengths", "4", "--concurrency", "1"];
        let output =
            command(folder.path(), &[&routed[..], &load, &["--requests", "1"], model].concat());
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    };
    let told = run(&[]);
    assert!(told.contains("name the model with --model"), "{told}");
    let told = run(&["--model", "llama-70b-chat"]);
    assert!(told.contains("measuring llama-70b-chat"), "{told}");
    assert!(!told.contains("the server lists"), "{told}");
}

#[test]
fn a_key_of_fewer_than_8_characters_gets_a_warning_that_it_is_not_redacted() {
    for (key, is_told) in [("EMPTY", true), ("1234567", true), ("12345678", false)] {
        let folder = folder();
        let output = Command::new(BINARY)
            .current_dir(folder.path())
            .env("OPENAI_API_KEY", key)
            .args(["run", "--target", &telling_server(KINDS[4]), "--input-lengths", "16"])
            .args(["--output-lengths", "4", "--one-by-one", "1", "--requests", "1"])
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(told.matches("fewer than 8 characters").count(), usize::from(is_told), "{told}");
    }
}

/// Starts a server that identifies itself, and quotes all received headers in its errors. Returns its address.
fn quoting_server() -> String {
    serve(|asked| {
        if asked.path() == "/v1/models" {
            return whole("200 OK", "{\"data\":[{\"id\":\"m\"}]}");
        }
        let head = asked.head.replace(['\r', '\n', '"'], " ");
        whole("401 Unauthorized", &format!("{{\"error\":{{\"message\":\"no: {head}\"}}}}"))
    })
}

fn holds(path: &Path, secret: &str) -> bool {
    // Compressed pictures contain every short sequence of bytes by chance.
    if secret.len() < 6 && path.extension().is_some_and(|extension| extension == "png") {
        return false;
    }
    let bytes = fs::read(path).unwrap();
    bytes.windows(secret.len()).any(|window| window == secret.as_bytes())
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

#[test]
fn a_key_that_the_server_quotes_is_never_stored_or_printed() {
    let folder = folder();
    let url = quoting_server();
    let output = Command::new(BINARY)
        .current_dir(folder.path())
        .env("MY_KEY", KEY)
        .args(["run", "--target", &url, "--api-key-env", "MY_KEY"])
        .args(["--header", &format!("X-Tenant: {TENANT}")])
        .args(["--input-lengths", "16", "--output-lengths", "4", "--concurrency", "1"])
        .args(["--requests", "2", "--dump-workload", "dump.jsonl"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let shown = [output.stdout, output.stderr].concat();
    let shown = String::from_utf8_lossy(&shown);
    assert!(shown.contains("401") && shown.contains("***"), "{shown}");
    let files = files(folder.path());
    assert!(files.len() >= 8, "{files:?}");
    assert!(files.iter().any(|file| file.ends_with("dump.jsonl")), "{files:?}");
    for secret in [KEY, TENANT] {
        assert!(!shown.contains(secret), "{shown}");
        for file in &files {
            assert!(!holds(file, secret), "{}", file.display());
        }
    }
}
