//! The dashboard as a process: it starts, serves pages, and stops.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::support::{BINARY, folder, inferometer, told};

/// The response to a request for a page.
fn get(address: &str, target: &str) -> String {
    crate::support::get(address, target).expect("it listens")
}

#[test]
fn the_dashboard_can_be_open_before_anything_was_measured() {
    let folder = folder();
    let mut web = Command::new(BINARY)
        .current_dir(folder.path())
        .args(["web", "--listen", "127.0.0.1:0", "--until-stdin-closes"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    let stdout = web.stdout.take().expect("stdout is a pipe");
    BufReader::new(stdout).read_line(&mut line).expect("it says where it listens");
    let address = line.trim().trim_start_matches("listening on http://").trim_end_matches('/');
    assert!(get(address, "/").contains("no run"), "{}", get(address, "/"));
    drop(web.stdin.take());
    assert_eq!(web.wait().expect("it ends").code(), Some(0));
}

#[test]
fn the_dashboard_starts_answers_and_stops() {
    let folder = folder();
    let arguments = ["run", "--speed", "200", "--input-lengths", "16", "--output-lengths", "4"];
    let more = ["--one-by-one", "1", "--requests", "2", "--warmup", "0", "--quiet"];
    inferometer(folder.path(), &[&arguments[..], &more].concat());
    let mut web = Command::new(BINARY)
        .current_dir(folder.path())
        .args(["web", "--listen", "127.0.0.1:0", "--until-stdin-closes"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    let stdout = web.stdout.take().expect("stdout is a pipe");
    BufReader::new(stdout).read_line(&mut line).expect("it says where it listens");
    let address = line.trim().strip_prefix("listening on http://").expect("an address");
    let address = address.strip_suffix('/').expect("a link");
    let list = get(address, "/");
    assert!(list.starts_with("HTTP/1.1 200 OK") && list.contains("1 run."), "{list}");
    assert!(get(address, "/runs/latest").starts_with("HTTP/1.1 303 "));
    let summary = get(address, "/runs/latest/summary.json");
    assert!(summary.contains("\"schema\": \"inferometer.summary/1\""), "{summary}");

    let taken = inferometer(folder.path(), &["web", "--listen", address]);
    assert_eq!(taken.status.code(), Some(2));
    assert!(told(&taken).contains("another program listens there"), "{}", told(&taken));
    let interrupt = format!("-INT {}", web.id());
    Command::new("kill").args(interrupt.split(' ')).status().expect("kill");
    assert_eq!(web.wait().expect("it ends").code(), Some(0));

    let none = inferometer(folder.path(), &["web", "--store", "none.db"]);
    assert_eq!(none.status.code(), Some(2));
    let weak = Command::new(BINARY)
        .current_dir(folder.path())
        .args(["web", "--listen", "127.0.0.1:0"])
        .env("INFEROMETER_WEB_TOKEN", "short")
        .output()
        .expect("it runs");
    assert!(weak.status.code() == Some(2) && told(&weak).contains("16"), "{}", told(&weak));
}
