//! Ollama's own API, and traces of requests: a small server of these tests answers as Ollama does.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::{fits_its_schema, folder, inferometer, is_generation, told};
use crate::tiny_server::{self, Request};

const RUN: &str = "--dialect ollama --model m --input-lengths 8 --output-lengths 4 --concurrency 2 \
                   --requests 4 --warmup 0 --plots none --store a.db --out out --traceparent";

/// The value of a header field; empty without it.
fn field(asked: &Request, name: &str) -> String {
    let lines = asked.head.lines().filter_map(|line| line.split_once(": "));
    let mut values = lines.filter(|(field, _)| field.eq_ignore_ascii_case(name));
    values.next().map_or_else(String::new, |(_, value)| value.to_owned())
}

/// An answer of two words, with times of a few microseconds. Its prompt was cut to a context of 1,024 tokens.
fn answer() -> String {
    let word =
        json!({"model": "m", "message": {"role": "assistant", "content": " w"}, "done": false});
    let last = json!({
        "model": "m", "message": {"role": "assistant", "content": ""}, "done": true,
        "done_reason": "length", "total_duration": 9_000, "load_duration": 2_000,
        "prompt_eval_count": 1_024, "prompt_eval_duration": 3_000, "eval_count": 4,
        "eval_duration": 4_000,
    });
    let body = format!("{word}\n{word}\n{last}\n");
    tiny_server::whole("200 OK\r\ncontent-type: application/x-ndjson", &body)
}

#[test]
fn a_run_against_ollama_sets_its_context_and_has_its_times_and_the_trace_of_each_request() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let keeps = Arc::clone(&seen);
    let url = tiny_server::serve(move |asked| {
        if !is_generation(asked) {
            return tiny_server::whole("404 Not Found", "{}");
        }
        let body: Value = serde_json::from_str(&asked.body).expect("JSON");
        keeps.lock().expect("a list").push((field(asked, "traceparent"), body));
        answer()
    });
    let folder = folder();
    let line = format!("run --target {url} {RUN}");
    let run = inferometer(folder.path(), &line.split_whitespace().collect::<Vec<_>>());
    assert_eq!(run.status.code(), Some(0), "{}", told(&run));
    let summary = std::fs::read(folder.path().join("out/summary.json")).expect("a summary");
    let summary: Value = serde_json::from_slice(&summary).expect("JSON");
    fits_its_schema(&summary);
    let parts = &summary["cells"][0]["passes"][0]["ttft_parts"];
    assert_eq!((&parts["n"], &parts["load_ms"]), (&json!(4), &json!(0.002)), "{parts}");
    assert_eq!((&parts["prefill_ms"], &parts["queue_ms"]), (&json!(0.003), &Value::Null));
    let findings: Vec<&str> = summary["findings"]
        .as_array()
        .expect("findings")
        .iter()
        .filter_map(|finding| finding["code"].as_str())
        .collect();
    assert!(findings.contains(&"context_full"), "{findings:?}");
    assert!(!findings.contains(&"context_unset"), "{findings:?}");
    assert_eq!(summary["target"]["facts"]["num_ctx"], "1024");

    let rows = inferometer(folder.path(), &["export", "--store", "a.db", "--format", "jsonl"]);
    let rows = String::from_utf8(rows.stdout).expect("UTF-8");
    let rows = rows.lines().map(|row| serde_json::from_str(row).expect("JSON"));
    let rows: Vec<Value> = rows.filter(|row: &Value| row["trace_id"].is_string()).collect();
    assert_eq!(rows.len(), 4, "{rows:?}");
    assert!(rows.iter().all(|row| row["server_decode_ms"] == 0.004), "{rows:?}");
    let seen = seen.lock().expect("a list");
    let traces: BTreeSet<&str> = seen.iter().map(|(parent, _)| parent.as_str()).collect();
    let is_sent = |row: &Value| {
        let trace = format!("00-{}-", row["trace_id"].as_str().unwrap_or("?"));
        traces.iter().filter(|parent| parent.starts_with(&trace)).count() == 1
    };
    assert!(rows.iter().all(is_sent), "{traces:?} {rows:?}");
    let options = json!({"num_ctx": 1_024, "num_predict": 4, "temperature": 1.0});
    assert!(seen.iter().all(|(_, body)| body["options"]["num_ctx"] == 1_024), "{seen:?}");
    assert!(seen.iter().any(|(_, body)| body["options"] == options), "{seen:?}");
}
