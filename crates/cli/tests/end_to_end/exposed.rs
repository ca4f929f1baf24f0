//! A run that is scraped while it goes on, interrupted, and gone on with.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{BINARY, Engine, folder, inferometer, told};

/// The answer to a request; none where nobody listens any more.
fn get(address: &str, target: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    let request = format!("GET {target} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}

fn value(text: &str, sample: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '));
    line.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{sample} in {text}"))
}

#[test]
fn a_run_is_scraped_while_it_goes_on_and_the_scrapes_end_with_it() {
    let engine = Engine::start(&[]);
    let folder = folder();
    let lengths = ["--input-lengths", "24", "--output-lengths", "12", "--warmup", "0"];
    let load = ["--concurrency", "2", "--duration", "1h", "--json", "--out", "there"];
    let mut run = Command::new(BINARY)
        .current_dir(folder.path())
        // A port that was chosen is told whatever is hidden.
        .args(["run", "--target", &engine.url, "--metrics-listen", "0", "--quiet"])
        .args(lengths)
        .args(load)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut lines =
        BufReader::new(run.stderr.take().expect("a pipe")).lines().map_while(Result::ok);
    let address = lines
        .find_map(|line| {
            line.strip_prefix("metrics: http://")?.split('/').next().map(str::to_owned)
        })
        .expect("an address");
    let complete = "inferometer_requests_total{outcome=\"complete\"}";
    let mut before = 0.0;
    let text = loop {
        let text = get(&address, "/metrics").expect("it listens while the run goes on");
        let now = value(&text, complete);
        assert!(now >= before, "counters do not shrink: {now} after {before}");
        before = now;
        if now >= 3.0 {
            break text;
        }
    };
    assert!(text.contains("content-type: text/plain; version=0.0.4; charset=utf-8"), "{text}");
    assert!(text.contains("inferometer_pass_info{pass=\"1\",input_length=\"24\""), "{text}");
    assert!(value(&text, "inferometer_requests_begun_total") >= before);
    assert!(get(&address, "/").is_some_and(|text| text.starts_with("HTTP/1.1 404 ")));
    let interrupt = format!("-INT {}", run.id());
    Command::new("kill").args(interrupt.split(' ')).status().expect("kill");
    let said: Vec<String> = lines.collect();
    assert_eq!(run.wait().expect("it ends").code(), Some(130), "{said:?}");
    assert_eq!(get(&address, "/metrics"), None, "nobody listens after the run");

    let summary = std::fs::read_to_string(folder.path().join("there/summary.json")).expect("kept");
    let summary: Value = serde_json::from_str(&summary).expect("a summary");
    let kept = summary["cells"][0]["passes"][0]["outcomes"]["complete"].as_f64();
    assert!(kept >= Some(before), "{before} scraped, {kept:?} kept");
    let run = summary["run_id"].as_str().expect("a name");
    let advice = format!("inferometer run --resume {run}");
    assert!(said.iter().any(|line| line.contains(&advice)), "{said:?}");
    let ended = "0 of 1 passes were completed";
    assert!(summary["findings"].to_string().contains(ended), "{}", summary["findings"]);

    // It goes on where the first one wrote, and says what it replaces there.
    let plan = inferometer(folder.path(), &["run", "--resume", run, "--dry-run"]);
    let plan = String::from_utf8(plan.stdout).expect("a plan");
    assert!(plan.contains("out = \"there\""), "{plan}");
}

#[test]
fn an_address_that_is_taken_is_told_before_anything_is_sent() {
    let engine = Engine::start(&[]);
    let folder = folder();
    let taken = engine.url.trim_start_matches("http://");
    let output =
        inferometer(folder.path(), &["run", "--target", &engine.url, "--metrics-listen", taken]);
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    assert!(told(&output).contains("--metrics-listen 127.0.0.1:"), "{}", told(&output));
    assert!(told(&output).contains("another program listens there"), "{}", told(&output));
    assert!(!folder.path().join("inferometer.db").exists(), "nothing was begun");
}
