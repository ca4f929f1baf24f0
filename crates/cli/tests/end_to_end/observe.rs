//! The server's own metrics during a measurement: read, stored, computed again, or not read.

use serde_json::Value;

use crate::support::{Engine, folder, inferometer, measure, told};

#[test]
fn server_metrics_are_stored_with_the_run_and_reproduced_from_its_log() {
    let engine = Engine::start(&[]);
    let folder = folder();
    let flags = ["run", "--target", &engine.url, "--input-lengths", "24", "--output-lengths", "12"];
    let load = ["--passes", "saturated", "--requests", "6", "--warmup", "0", "--json"];
    let output = inferometer(folder.path(), &[&flags[..], &load[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let summary: Value = serde_json::from_slice(&output.stdout).expect("a summary");
    let says = &summary["cells"][0]["passes"][0]["server"];
    assert_eq!((&says["failed"], &says["generation_tokens"]), (&0.into(), &72.0.into()), "{says}");
    assert!(says["scrapes"].as_u64() >= Some(2), "no reading before or after the pass: {says}");
    assert_eq!(says["ttft_ms"]["n"], 6.0);
    let fact = summary["target"]["facts"]["server_metrics"].as_str().expect("a fact");
    assert_eq!(fact, format!("{}/metrics", engine.url));
    let again = inferometer(folder.path(), &["report", "latest", "--json"]);
    assert_eq!(again.stdout, output.stdout, "{}", told(&again));
}

#[test]
fn disabled_server_metrics_are_not_read_and_requested_server_metrics_must_exist() {
    let engine = Engine::start(&[]);
    let (_, summary) = measure(&engine.url, &["--no-server-metrics"]);
    let summary = summary.expect("a summary");
    assert!(summary["cells"][0]["passes"][0].get("server").is_none());
    assert!(summary["target"]["facts"].get("server_metrics").is_none());
    let (output, summary) = measure(&engine.url, &["--cards", "0"]);
    let summary = summary.unwrap_or_else(|| panic!("{}", told(&output)));
    let fact = summary["target"]["facts"]["cards"].as_str().expect("a fact");
    assert!(fact.starts_with("not read: the embedded engine"), "{fact}");
    let models = format!("{}/v1/models", engine.url);
    for (flags, code, words) in [
        (["--metrics-url", "/nothing"], 1, "/nothing answered 404"),
        (["--metrics-url", &models], 1, "contains no known metric"),
        (["--dcgm-url", &engine.url], 1, "reports no card"),
        (["--metrics-period", "1ms"], 2, "100ms"),
    ] {
        let (output, _) = measure(&engine.url, &flags);
        let told = told(&output);
        assert_eq!(output.status.code(), Some(code), "{told}");
        assert!(told.contains(words) && told.contains(flags[0]), "{told}");
    }
}
