//! Tests a server whose model name, version and errors would affect a terminal, a page, a spreadsheet or a request if
//! they were not escaped.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::support::{folder, inferometer, told};

/// A model name that contains a line break, an HTTP header, terminal commands, a change of text direction, a
/// spreadsheet formula and markup.
const NAME: &str = "=cmd|'/C calc'!A1\r\nX-Evil: 1\r\n\r\n\u{1b}[2J\u{1b}]0;t\u{7}\u{202e}\u{2028}\u{9b}\
                    31m<script>alert(1)</script>|\u{0}";

/// Starts a server with one model. Returns its address, and the heads of the requests that it receives.
fn server(model: String) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let heads = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&heads);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let (mut head, mut byte) = (Vec::new(), [0]);
            while !head.ends_with(b"\r\n\r\n") && stream.read_exact(&mut byte).is_ok() {
                head.push(byte[0]);
            }
            let head = String::from_utf8_lossy(&head).into_owned();
            let length = head.split("ength: ").nth(1).and_then(|rest| rest.lines().next());
            let mut body = vec![0; length.and_then(|text| text.parse().ok()).unwrap_or(0)];
            let _ = stream.read_exact(&mut body);
            let (status, body) = match head.split(' ').nth(1) {
                Some("/v1/models") => {
                    let list = serde_json::json!({"data": [{"id": model, "root": model}]});
                    ("200 OK", list.to_string())
                }
                Some("/version") => ("200 OK", serde_json::json!({"version": model}).to_string()),
                Some(path) if path.ends_with("/generate_stream") => {
                    ("500 No", serde_json::json!({"error": model}).to_string())
                }
                _ => ("404 Not Found", String::new()),
            };
            seen.lock().unwrap().push(head);
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    (url, heads)
}

fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let read = |entry: fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        (name, fs::read(entry.path()).unwrap())
    };
    fs::read_dir(folder).unwrap().map(|entry| read(entry.unwrap())).collect()
}

const LOAD: [&str; 9] = [
    "--dialect", "triton", "--input-lengths", "16", "--output-lengths", "4", "--concurrency", "1",
    "--requests=2",
];

#[test]
fn a_hostile_model_name_breaks_no_request_and_is_harmless_in_every_output() {
    let folder = folder();
    let (url, heads) = server(NAME.to_owned());
    let run = inferometer(
        folder.path(),
        &[&["run", "--target", &url, "--out", "out", "--plots", "svg"][..], &LOAD].concat(),
    );
    let told = told(&run);
    let mut shown =
        vec![("stdout".to_owned(), run.stdout.clone()), ("stderr".to_owned(), run.stderr.clone())];
    for again in [&["show", "latest"][..], &["runs"], &["export", "latest", "--format", "csv"]] {
        let output = inferometer(folder.path(), again);
        assert_eq!(output.status.code(), Some(0), "{again:?} {output:?}");
        shown.push((again.join(" "), output.stdout));
    }
    shown.extend(files(&folder.path().join("out")));
    for (name, bytes) in &shown {
        let text = String::from_utf8_lossy(bytes);
        if name.ends_with(".json") || name.ends_with(".csv") || name.starts_with("export") {
            // These files are for programs: texts are unchanged, except that no cell of a table begins with `=`.
            assert!(!text.contains(",=") && !text.contains(",\"="), "{name}: {text}");
            continue;
        }
        for hostile in ['\u{1b}', '\u{7}', '\u{202e}', '\u{2028}', '\u{9b}', '\0', '\r'] {
            assert!(!text.contains(hostile), "{name} contains {hostile:?}: {text}");
        }
        let is_markup = [".html", ".md", ".svg"].iter().any(|end| name.ends_with(end));
        assert!(!(is_markup && text.contains("<script>alert")), "{name}: {text}");
    }
    assert!(told.contains("\\u001b[2J") && told.contains("\\u202e"), "{told}");
    let csv = &shown.iter().find(|(name, _)| name == "cells.csv").unwrap().1;
    assert!(String::from_utf8_lossy(csv).contains("'=cmd|"));
    let heads = heads.lock().unwrap();
    let measured = heads.iter().filter(|head| head.starts_with("POST /v2/models/%3Dcmd"));
    assert!(measured.count() >= 2, "{heads:?}");
    assert!(!heads.iter().any(|head| head.contains("\r\nX-Evil")), "{heads:?}");
}

#[test]
fn a_model_name_of_one_megabyte_does_not_cause_megabytes_of_output() {
    let folder = folder();
    let (url, _) = server("m".repeat(1 << 20));
    let run = inferometer(
        folder.path(),
        &[&["run", "--target", &url, "--out", "out", "--model", "short"][..], &LOAD].concat(),
    );
    let printed = run.stdout.len() + run.stderr.len();
    assert!(printed < 100_000, "{printed} bytes");
    let all: usize = files(&folder.path().join("out"))
        .into_iter()
        .filter(|(name, _)| !name.ends_with(".png"))
        .map(|(_, bytes)| bytes.len())
        .sum();
    assert!(all < 1 << 20, "{all} bytes");
    let long = "m".repeat(1 << 16);
    let refused = inferometer(folder.path(), &["run", "--target", &url, "--model", &long]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(refused.stderr.len() < 1_000, "{}", told(&refused));
}
