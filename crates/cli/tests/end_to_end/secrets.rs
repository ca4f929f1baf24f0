//! A key is sent to the server and to nobody else: not to the store, the log, a report, an error,
//! even where the server quotes it.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use crate::support::{BINARY, folder};

const KEY: &str = "sk-very-secret-7f3a9c";
const TENANT: &str = "tenant-hush-5512";

/// A server that says what it is, and quotes every header it was sent in a refusal.
fn quoting_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            std::thread::spawn(move || {
                let mut head = Vec::new();
                let mut byte = [0];
                while !head.ends_with(b"\r\n\r\n") && stream.read_exact(&mut byte).is_ok() {
                    head.push(byte[0]);
                }
                let head = String::from_utf8_lossy(&head).replace(['\r', '\n', '"'], " ");
                let (status, body) = if head.starts_with("GET /v1/models") {
                    ("200 OK", "{\"data\":[{\"id\":\"m\"}]}".to_owned())
                } else {
                    ("401 Unauthorized", format!("{{\"error\":{{\"message\":\"no: {head}\"}}}}"))
                };
                let _ = write!(
                    stream,
                    "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                    body.len()
                );
            });
        }
    });
    url
}

fn holds(path: &Path, secret: &str) -> bool {
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
fn a_key_that_the_server_quotes_is_in_no_file_and_on_no_screen() {
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
    assert!(files.len() > 10, "{files:?}");
    assert!(files.iter().any(|file| file.ends_with("dump.jsonl")), "{files:?}");
    for secret in [KEY, TENANT] {
        assert!(!shown.contains(secret), "{shown}");
        for file in &files {
            assert!(!holds(file, secret), "{}", file.display());
        }
    }
}

#[test]
fn what_is_wrong_with_an_address_or_a_header_is_told_without_their_secrets() {
    let folder = folder();
    fs::write(folder.path().join("plan.toml"), format!("header = \"Authorization: {KEY}\"\n"))
        .unwrap();
    for arguments in [
        vec!["run".to_owned(), "--target".to_owned(), format!("http://u:{KEY}@127.0.0.1:1")],
        vec!["run".to_owned(), "--target".to_owned(), format!("u:{KEY}@127.0.0.1:1")],
        vec!["run".to_owned(), "plan.toml".to_owned()],
        ["run", "--target", "http://127.0.0.1:1", "--header", KEY].map(str::to_owned).to_vec(),
    ] {
        let output =
            Command::new(BINARY).current_dir(folder.path()).args(&arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let shown = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!shown.contains(KEY), "{shown}");
    }
}
