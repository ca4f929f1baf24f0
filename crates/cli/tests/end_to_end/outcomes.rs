//! Requests that fail in different ways, over real sockets. Each planned request has a record with the right outcome,
//! no failed request counts as a success, and the exit code is 1 if more requests fail than `--max-failures` allows.

use std::io::{Read, Write};
use std::net::TcpListener;

use crate::support::{
    Engine, Nobody, PATIENCE_S, folder, inferometer, measure, measure_cell, told,
};
use serde_json::Value;

/// The number of requests with each outcome in the only pass.
fn outcomes(summary: &Value) -> Vec<(String, u64)> {
    let counts = summary["cells"][0]["passes"][0]["outcomes"].as_object().expect("outcomes");
    counts
        .iter()
        .filter_map(|(kind, count)| Some((kind.clone(), count.as_u64()?)))
        .filter(|(_, count)| *count > 0)
        .collect()
}

#[test]
fn each_server_fault_gives_one_request_its_outcome_and_all_others_complete() {
    // Two requests are sent before the run, so the fault affects the third of the run's six requests.
    for (fault, outcome, words) in [
        ("error-event@5", "server_error", "injected fault"),
        ("cut@5", "truncated", "inside the HTTP body"),
        ("reset@5", "connection", "reset by peer"),
        ("status=429@5", "rejected", "429"),
        ("status=500@5", "rejected", "500"),
        ("status=400@5", "rejected", "400"),
        ("garbage@5", "malformed", "HTTP"),
        ("malformed@5", "malformed", "cannot be parsed"),
    ] {
        let engine = Engine::start(&["--fault", fault]);
        let (output, summary) = measure(&engine.url, &[]);
        let summary = summary.unwrap_or_else(|| panic!("{fault}: {}", told(&output)));
        let expected = [("complete".to_owned(), 5), (outcome.to_owned(), 1)];
        assert_eq!(outcomes(&summary), expected, "{fault}");
        assert_eq!(output.status.code(), Some(1), "{fault}: the limit is 1 % failed requests");
        let pass = &summary["cells"][0]["passes"][0];
        assert_eq!(pass["planned"], 6, "{fault}");
        assert_eq!(pass["output_tokens"], 5 * 12, "{fault}: only completed requests count");
        assert_eq!(pass["ttft_ms"]["n"], 5, "{fault}");
        assert!(told(&output).contains("1 of 6 requests failed"), "{fault}: {}", told(&output));
        let findings = summary["findings"].to_string();
        assert!(findings.contains(words), "{fault}: {findings}");
    }
}

#[test]
fn a_request_to_a_silent_server_times_out_and_the_finding_names_the_phase() {
    for (fault, flag, phase) in [
        ("slow-headers=9000000@5", "--first-token-timeout", "headers"),
        ("stall@5", "--event-timeout", "between events"),
        ("stall@5", "--timeout", "total"),
    ] {
        let expected = [("complete".to_owned(), 5), ("timed_out".to_owned(), 1)];
        let mut found = Vec::new();
        // On a slow machine, a short timeout may also end other requests. Then a longer timeout is tried.
        for patience_s in PATIENCE_S {
            let engine = Engine::start(&["--fault", fault]);
            let (output, summary) = measure(&engine.url, &[flag, &format!("{patience_s}s")]);
            let summary = summary.unwrap_or_else(|| panic!("{fault}: {}", told(&output)));
            let findings = summary["findings"].to_string();
            assert!(findings.contains(phase), "{fault} {flag}: {findings}");
            assert_eq!(output.status.code(), Some(1));
            found = outcomes(&summary);
            if found == expected {
                break;
            }
        }
        assert_eq!(found, expected, "{fault} {flag}");
    }
}

#[test]
fn failures_within_max_failures_do_not_fail_the_run() {
    let engine = Engine::start(&["--fault", "cut@5"]);
    let (output, _) = measure(&engine.url, &["--max-failures", "20%"]);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
}

#[test]
fn every_request_has_a_record_even_if_the_server_dies() {
    // The server dies when the third request of the run arrives. Answers are so long that none has ended by then.
    let engine = Engine::start_at("1", &["--fault", "die@5"]);
    let (output, summary) = measure_cell(&engine.url, ("24", "8000"), &[]);
    let summary = summary.unwrap_or_else(|| panic!("{}", told(&output)));
    let total: u64 = outcomes(&summary).iter().map(|(_, count)| count).sum();
    assert_eq!(total, 6);
    assert_eq!(summary["cells"][0]["passes"][0]["outcomes"]["complete"], 0);
    assert_eq!(output.status.code(), Some(1));
    assert!(told(&output).contains("no request completed"), "{}", told(&output));
}

#[test]
fn every_request_fails_to_connect_if_the_server_goes_away_after_discovery() {
    let engine = Engine::start(&["--fault", "refuse@3"]);
    let cell = ["--input-lengths", "24", "--output-lengths", "12", "--concurrency", "1"];
    let load = ["--requests", "6", "--warmup", "0", "--json"];
    let arguments = [&["run", "--target", &engine.url][..], &cell, &load].concat();
    let output = inferometer(folder().path(), &arguments);
    let summary: Value = serde_json::from_slice(&output.stdout).expect("a summary");
    assert_eq!(outcomes(&summary), [("connection".to_owned(), 6)]);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn failed_requests_have_infinite_latency_if_failures_as_inf_is_given() {
    let engine = Engine::start(&["--fault", "status=429@5"]);
    let folder = folder();
    let cell = ["--input-lengths", "24", "--output-lengths", "12", "--concurrency", "1"];
    let load = ["--requests", "6", "--warmup", "0", "--max-failures", "50%", "--json"];
    let run = [&["run", "--target", &engine.url][..], &cell, &load].concat();
    let json = |arguments: &[&str]| -> Value {
        let output = inferometer(folder.path(), arguments);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", told(&output)))
    };
    let plain = json(&run);
    let pass = |summary: &Value| summary["cells"][0]["passes"][0].clone();
    assert!(pass(&plain).get("failures_as_inf").is_none());
    // `report` computes these percentiles from the records of a run that was started without --failures-as-inf. One of
    // the six requests failed.
    let again = json(&["report", "--failures-as-inf", "--json"]);
    let found = &pass(&again)["failures_as_inf"];
    assert_eq!((&found["failed"], &found["ttft_ms"]["n"]), (&1.into(), &6.into()));
    assert_eq!((&found["ttft_ms"]["p90"], &found["e2e_ms"]["p99"]), (&"inf".into(), &"inf".into()));
    assert!(found["e2e_ms"]["p50"].as_f64() >= pass(&plain)["e2e_ms"]["p50"].as_f64());
    assert_eq!(pass(&again)["e2e_ms"], pass(&plain)["e2e_ms"]);
    let shown = json(&["show", "--failures-as-inf", "--json"]);
    assert_eq!(&pass(&shown["summary"])["failures_as_inf"], found);
    let text = inferometer(folder.path(), &["show", "--failures-as-inf"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    let has_tail = |line: &str| line.contains("1 / 6") && line.ends_with("+inf");
    assert!(text.lines().any(has_tail), "{text}");
    // A run with --failures-as-inf has these percentiles in its results.
    let engine = Engine::start(&["--fault", "status=429@5"]);
    let run = [&["run", "--failures-as-inf", "--target", &engine.url][..], &cell, &load].concat();
    assert_eq!(pass(&json(&run))["failures_as_inf"]["e2e_ms"]["max"], "inf");
}

#[test]
fn the_list_of_runs_and_the_run_itself_state_how_many_requests_failed() {
    let engine = Engine::start(&["--fault", "refuse@5"]);
    let folder = folder();
    let cell = ["--input-lengths", "24", "--output-lengths", "12", "--concurrency", "1"];
    let load = ["--requests", "6", "--warmup", "0", "--quiet"];
    let run = [&["run", "--target", &engine.url][..], &cell, &load].concat();
    assert_eq!(inferometer(folder.path(), &run).status.code(), Some(1));
    let stdout = |arguments: &[&str]| {
        String::from_utf8_lossy(&inferometer(folder.path(), arguments).stdout).into_owned()
    };
    let listed = stdout(&["runs"]);
    assert!(listed.contains("4 of 6 requests failed"), "{listed}");
    let document: Value = serde_json::from_str(&stdout(&["runs", "--json"])).expect("JSON");
    assert_eq!(document["runs"][0]["failed"], 4, "{document}");
    let shown = stdout(&["show", "latest"]);
    let first = shown.lines().next().expect("a line");
    assert!(first.contains("4 of 6 requests failed"), "{shown}");
    let words = ["valid, 4 of 6 requests failed: ", "suspect, 4 of 6 requests failed: "];
    assert!(shown.lines().any(|line| words.iter().any(|word| line.starts_with(word))), "{shown}");
}

#[test]
fn requests_above_the_model_limit_are_rejected_and_prompts_above_it_are_not_sent() {
    let engine = Engine::start(&["--max-model-len", "64"]);
    let (output, summary) = measure_cell(&engine.url, ("60", "8"), &[]);
    let summary = summary.unwrap_or_else(|| panic!("{}", told(&output)));
    assert_eq!(outcomes(&summary), [("rejected".to_owned(), 6)]);
    assert!(summary["findings"].to_string().contains("maximum context length is 64"));
    assert_eq!(output.status.code(), Some(1));
    // If all prompts are too long, nothing is sent.
    let (output, summary) = measure_cell(&engine.url, ("100", "8"), &[]);
    assert!(summary.is_none() && output.status.code() == Some(2), "{}", told(&output));
    assert!(told(&output).contains("accepts at most 64 tokens"), "{}", told(&output));
}

#[test]
fn token_counts_are_right_with_comments_with_split_characters_and_with_several_tokens_per_event() {
    for fault in ["bundle=5", "comments", "halves"] {
        let engine = Engine::start(&["--fault", fault]);
        let (output, summary) = measure(&engine.url, &[]);
        let summary = summary.unwrap_or_else(|| panic!("{fault}: {}", told(&output)));
        assert_eq!(outcomes(&summary), [("complete".to_owned(), 6)], "{fault}");
        assert_eq!(summary["cells"][0]["passes"][0]["output_tokens"], 72, "{fault}");
        assert_eq!(output.status.code(), Some(0), "{fault}");
    }
}

#[test]
fn a_server_that_closes_connections_after_each_answer_is_detected_and_measured() {
    let engine = Engine::start(&["--fault", "close"]);
    let (output, summary) = measure(&engine.url, &["--passes", "one_by_one"]);
    let summary = summary.unwrap_or_else(|| panic!("{}", told(&output)));
    for pass in summary["cells"][0]["passes"].as_array().expect("passes") {
        assert_eq!(pass["outcomes"]["complete"], pass["planned"], "{}", told(&output));
    }
    assert!(summary["findings"].to_string().contains("connections_not_kept"));
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    // The second of the requests that show the length of the chat template is lost, and sent again.
    let (output, summary) = measure(&engine.url, &["--dialect", "openai-chat", "--count-template"]);
    let findings = summary.unwrap_or_else(|| panic!("{}", told(&output)))["findings"].to_string();
    assert!(!findings.contains("template_not_counted"), "{findings}");
}

#[test]
fn a_target_that_is_not_an_http_server_is_reported_with_its_address() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        // The server answers only the first connection; the test needs no other.
        for stream in listener.incoming().take(1) {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(b"SSH-2.0-OpenSSH_9.2\r\n");
        }
    });
    let (output, summary) = measure(&url, &["--connect-timeout", "2s"]);
    assert!(summary.is_none());
    assert_eq!(output.status.code(), Some(1));
    assert!(told(&output).contains(&url), "{}", told(&output));
    server.join().unwrap();
}

#[test]
fn a_refused_connection_gives_exit_code_1_with_the_address_and_the_reason() {
    let nobody = Nobody::new();
    let (output, summary) = measure(&nobody.url, &[]);
    assert!(summary.is_none());
    assert_eq!(output.status.code(), Some(1));
    let told = told(&output);
    assert!(told.contains(&nobody.url) && told.contains("refused"), "{told}");
}
