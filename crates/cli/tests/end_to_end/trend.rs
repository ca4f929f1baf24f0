//! `trend` over stored runs: its answer, what it leaves out, and its gate.

use crate::support::{Engine, folder, inferometer};
use serde_json::Value;
use tempfile::TempDir;

fn said(folder: &TempDir, line: &str) -> (Option<i32>, String, String) {
    let out = inferometer(folder.path(), &line.split_whitespace().collect::<Vec<_>>());
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (out.status.code(), text(out.stdout), text(out.stderr))
}

/// Measures a server with a few requests at once, and tags the run as one of a nightly job.
fn night(folder: &TempDir, url: &str, commit: &str, requests: u32) {
    let run = "--input-lengths 16 --output-lengths 8 --passes saturated --warmup 0 --plots none --quiet --json";
    let line = format!("run --target {url} --requests {requests} {run}");
    let (code, _, told) = said(folder, &line);
    assert_eq!(code, Some(0), "{told}");
    let (code, _, told) = said(folder, &format!("tag latest nightly commit={commit}"));
    assert_eq!(code, Some(0), "{told}");
}

#[test]
fn a_server_that_became_much_slower_is_named_with_its_commit_and_fails_the_gate() {
    let folder = folder();
    let batches = Engine::start_at("2", &[]);
    // One sequence at a time: a request waits for half of the others.
    let queues = Engine::start_at("2", &["--max-num-seqs", "1"]);
    for at in 0..14 {
        night(&folder, &batches.url, &format!("c{at}"), 16);
    }
    let trend = "trend --tag nightly --figure e2e_p50 --false-alarms 20";
    for at in 14..20 {
        night(&folder, &queues.url, &format!("c{at}"), 16);
    }
    let (code, text, told) = said(&folder, &format!("{trend} --within 8 --gate worse"));
    assert_eq!(code, Some(3), "{text}{told}");
    assert!(told.contains("FAIL: not met: since c1"), "{told}");
    assert!(text.starts_with("since c1") && text.contains("% worse ("), "{text}");
    assert!(text.contains("in 20 of 20 runs: was measured on a simulated engine"), "{text}");
    let (code, _, told) = said(&folder, &format!("{trend} --within 8 --gate e2e_p50<+20%"));
    assert_eq!(code, Some(3), "{told}");
    let document: Value =
        serde_json::from_str(&said(&folder, &format!("{trend} --json")).1).expect("JSON");
    assert_eq!(document["schema"], "inferometer.trend/1");
    let figure = &document["trend"]["figures"][0];
    assert_eq!((&figure["figure"], &figure["workload"]), (&"e2e_p50".into(), &0.into()));
    let change = figure["changes"].as_array().and_then(|all| all.last()).expect("a change");
    let since = change["since"].as_u64().expect("a run");
    assert!((13..=15).contains(&since) && change["is_worse"] == true, "{change}");
    assert!(change["change_pct"].as_f64().is_some_and(|pct| pct > 100.0), "{change}");
    // Runs of another workload have figures of their own, which are still too few.
    night(&folder, &batches.url, "other", 12);
    let (_, text, told) = said(&folder, &format!("{trend} --within 1 --gate worse"));
    assert!(text.contains("workload 2: 1 run that measured something else, from other"), "{text}");
    assert!(told.contains("UNDECIDED: it is unknown"), "{told}");
}

#[test]
fn a_trend_of_too_few_runs_is_unknown_and_its_gate_is_undecided() {
    let folder = folder();
    let engine = Engine::start(&[]);
    for commit in ["a", "b"] {
        night(&folder, &engine.url, commit, 16);
    }
    let (code, text, _) = said(&folder, "trend --tag nightly");
    assert_eq!(code, Some(0));
    assert!(
        text.starts_with("it is unknown whether a figure changed: a figure needs 13 runs"),
        "{text}"
    );
    assert!(text.contains("at most 2 of 13"), "{text}");
    let document: Value =
        serde_json::from_str(&said(&folder, "trend --tag nightly --figure e2e_p50 --json").1)
            .expect("JSON");
    assert_eq!(document["trend"]["runs"][1]["label"], "b");
    assert_eq!(document["trend"]["figures"].as_array().map(Vec::len), Some(1));
    for (flags, code, told) in [
        ("--gate worse", 0, "UNDECIDED: it is unknown"),
        ("--gate worse --strict", 3, "FAIL: it is unknown"),
        ("--gate e2e_p50<+5%", 0, "UNDECIDED"),
        ("--gate e2e_p50<+5% --strict", 3, "FAIL"),
        ("--gate no_such<5%", 2, "no_such"),
        ("--figure no_such", 2, "no run has the figure no_such"),
        ("--false-alarms 30", 2, "up to 20"),
        ("--tag other", 2, "no run with results has the tag nightly and other"),
    ] {
        let (found, _, error) = said(&folder, &format!("trend --tag nightly {flags}"));
        assert_eq!(found, Some(code), "{flags}: {error}");
        assert!(error.contains(told), "{flags}: {error}");
    }
}
