//! Failures before, during and after a run: each gives a clear message and the documented exit code. Also tests the
//! memory that a dry run states.

use std::fs;
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::support::{Engine, Running, Scraped, folder, inferometer, told};

/// The stored runs.
fn runs(folder: &Path) -> Vec<Value> {
    let output = inferometer(folder, &["runs", "--json"]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    found["runs"].as_array().unwrap().clone()
}

fn code_and_words(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), told(output))
}

#[test]
fn a_run_whose_report_cannot_be_written_is_stored_and_named_in_the_error() {
    let engine = Engine::start(&[]);
    let folder = folder();
    // A file cannot replace a folder that is not empty.
    fs::create_dir_all(folder.path().join("out/report.html/in-the-way")).unwrap();
    let output = inferometer(
        folder.path(),
        &[
            "run", "--target", &engine.url, "--input-lengths", "16", "--output-lengths", "4",
            "--concurrency", "1", "--requests", "2", "--out", "out",
        ],
    );
    let (code, words) = code_and_words(&output);
    let stored = runs(folder.path());
    let id = stored[0]["run_id"].as_str().unwrap();
    assert_eq!((code, stored.len()), (Some(1), 1), "{words}");
    assert_eq!(stored[0]["state"], "complete");
    assert!(
        words.contains(&format!("run {id} is stored")) && words.contains("report.html"),
        "{words}"
    );
    let again = format!("inferometer report {id} --store 'inferometer.db' --out FOLDER");
    assert!(words.contains(&again), "{words}");
}

#[test]
fn an_interruption_during_discovery_ends_with_exit_code_130() {
    let folder = folder();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let mut run = Running::start(folder.path(), &["run", "--target", &url]);
    // The first connection only tests whether the server listens; the request is on the second.
    let asked: Vec<TcpStream> = (0..2).map(|_| silent.accept().unwrap().0).collect();
    assert!((&asked[1]).read(&mut [0; 16]).unwrap() > 0);
    run.signal("-INT");
    let (code, words) = code_and_words(&run.finish());
    assert_eq!(code, Some(130), "{words}");
    assert!(words.contains("interrupted before anything was measured"), "{words}");
}

#[test]
fn a_store_deleted_during_a_run_is_an_error() {
    let engine = Engine::start(&[]);
    let folder = folder();
    let scraped = Scraped::start(
        folder.path(),
        &[
            "--target", &engine.url, "--input-lengths", "16", "--output-lengths", "4",
            "--concurrency", "1", "--duration", "1h", "--out", "out",
        ],
    );
    scraped.wait_for("inferometer_requests_begun_total", 1.0);
    for name in ["inferometer.db", "inferometer.db-wal", "inferometer.db-shm"] {
        fs::remove_file(folder.path().join(name)).unwrap();
    }
    let said: Vec<String> = scraped.errors.map_while(Result::ok).collect();
    let said = said.join("\n");
    assert_eq!(scraped.run.finish().status.code(), Some(1), "{said}");
    assert!(said.contains("the store was deleted or replaced"), "{said}");
}

#[test]
fn two_runs_cannot_write_reports_to_the_same_folder_at_the_same_time() {
    let slow = Engine::start_at("1", &[]);
    let folder = folder();
    let flags = [
        "--target", &slow.url, "--input-lengths", "16", "--output-lengths", "8000",
        "--concurrency", "1", "--requests", "1", "--warmup", "0", "--out", "out",
    ];
    let first = Scraped::start(folder.path(), &flags);
    first.wait_for("inferometer_requests_begun_total", 1.0);
    let second = inferometer(folder.path(), &[&["run"][..], &flags].concat());
    let (code, words) = code_and_words(&second);
    assert_eq!(code, Some(2), "{words}");
    assert!(words.contains("--out") && words.contains("another process is writing"), "{words}");
    let (_, output) = first.interrupt();
    assert_eq!(output.status.code(), Some(130));
    assert!(!folder.path().join("out/.report.lock").exists());
}

#[test]
fn a_dry_run_says_how_much_memory_the_plan_needs() {
    let folder = folder();
    let flags = [
        "run", "--dry-run", "--input-lengths", "128", "--output-lengths", "996", "--concurrency",
        "8", "--requests", "100",
    ];
    let text = String::from_utf8(inferometer(folder.path(), &flags).stdout).unwrap();
    assert!(
        text.contains("# memory: at most 512 MiB plus ") && text.contains(" prompts 1 MiB"),
        "{text}"
    );
    let json = inferometer(folder.path(), &[&flags[..], &["--json"]].concat()).stdout;
    let json: Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["memory_bytes"]["answers"], 8 * 1_000 * 240);
}
