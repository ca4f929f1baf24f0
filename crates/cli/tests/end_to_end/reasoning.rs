//! Reasoning of a model that is sent in a field of its own, or in the text of the answer: its times and tokens.

use std::time::Duration;

use inferometer_model::pooled::is_pooling;
use inferometer_wire::dialect::dialects;
use serde_json::{Value, json};

use crate::support::{folder, inferometer, is_generation, told};
use crate::{faults, tiny_server};

/// The time before the first reasoning, and the time from there to the answer, in milliseconds.
const PLANTED_MS: [u64; 2] = [40, 120];
/// The arguments of a measurement of three requests.
const RUN: &str = "--model m --yes --warmup 0 --input-lengths 10 --output-lengths 6 --passes one_by_one \
                   --one-by-one 3";

/// Measures a server. Returns what the terminal shows, the exit code, and the results of the only pass.
fn measure(url: &str, dialect: &str, flags: &str) -> (String, Option<i32>, Value) {
    let folder = folder();
    let line = format!("run --target {url} --dialect {dialect} {RUN} --out out {flags}");
    let run = inferometer(folder.path(), &line.split_whitespace().collect::<Vec<_>>());
    let summary = std::fs::read(folder.path().join("out/summary.json"));
    let summary = summary.unwrap_or_else(|error| panic!("{error}: {}", told(&run)));
    let summary: Value = serde_json::from_slice(&summary).expect("a summary");
    let shown = String::from_utf8(run.stdout).expect("text");
    (shown, run.status.code(), summary["cells"][0]["passes"][0].clone())
}

/// A server that sends four messages with reasoning and two with the answer, with pauses before each kind.
fn serve(field: &'static str, stated: Value) -> String {
    tiny_server::serve_in_parts(move |asked| {
        if !is_generation(asked) {
            return vec![tiny_server::whole("404 Not Found", "{}").into()];
        }
        let delta = |field: &str, text: &str| {
            let delta = json!({field: text});
            format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": delta}]}))
        };
        let details = json!({"reasoning_tokens": stated});
        let usage = json!({"prompt_tokens": 10, "completion_tokens": 6, "completion_tokens_details": details});
        let last = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage});
        let reasoning =
            ["<think>", "so", " it", "</think>"].map(|text| delta(field, text)).concat();
        let answer = [delta("content", "4"), delta("content", "2"), format!("data: {last}\n\n")];
        let head =
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        let pause = PLANTED_MS.map(Duration::from_millis);
        vec![
            head.to_owned().into(),
            pause[0].into(),
            reasoning.into(),
            pause[1].into(),
            answer.concat().into(),
        ]
    })
}

#[test]
fn the_times_and_tokens_of_reasoning_are_those_that_the_server_planted() {
    for (field, stated, flags, from, tokens) in [
        ("reasoning_content", json!(3), "", "usage", 3.0),
        ("reasoning_content", json!(0), "", "events", 4.0),
        ("reasoning", json!(null), "", "events", 4.0),
        ("content", json!(null), "--split-think tagged", "events", 4.0),
        ("content", json!(null), "--split-think opened", "events", 4.0),
    ] {
        let url = serve(field, stated.clone());
        let objectives = "--slo ttfr_p95<1h,ttfot_p95<1h,reasoning_tokens_p95<5";
        let objectives = objectives.replace("1h", "3600s");
        let (shown, code, pass) = measure(&url, "openai-chat", &format!("{flags} {objectives}"));
        let case = format!("{field}, {stated}, {flags}: {shown}");
        assert_eq!(code, Some(0), "{case}");
        let p50 = |key: &str| pass[key]["p50"].as_f64().unwrap_or_else(|| panic!("{key}: {case}"));
        assert_eq!(p50("ttfr_ms"), p50("ttft_ms"), "{case}");
        // A busy machine makes times longer, never shorter.
        assert!(p50("ttfr_ms") >= PLANTED_MS[0] as f64, "{case}");
        assert!(p50("ttfot_ms") - p50("ttfr_ms") >= PLANTED_MS[1] as f64 * 0.9, "{case}");
        assert_eq!(pass["reasoning_tokens"]["mean"], tokens, "{case}");
        assert_eq!(pass["reasoning_share_pct"], 100.0 * tokens / 6.0, "{case}");
        assert_eq!(pass["reasoning_from"], from, "{case}");
        assert!(shown.contains("Reasoning") && shown.contains(from), "{case}");
    }
    let url = serve("reasoning", json!(null));
    for (objective, expected) in
        [("ttfr_p95<20ms", 3), ("ttfot_mean<100ms", 3), ("reasoning_tokens_max<=3", 3)]
    {
        let (shown, code, _) = measure(&url, "openai-chat", &format!("--slo {objective}"));
        assert_eq!(code, Some(expected), "{objective}: {shown}");
    }
}

#[test]
fn reasoning_in_the_text_is_split_in_every_dialect_only_if_the_flag_asks_for_it() {
    let all = dialects().iter().map(|dialect| dialect.name);
    for dialect in all.filter(|dialect| !is_pooling(dialect)) {
        let url = tiny_server::serve(move |asked| {
            let body = serde_json::from_str::<Value>(&asked.body).unwrap_or_default();
            let all = faults::messages(dialect, body["prompt"].as_str().unwrap_or_default());
            let texts = ["<think>", "so", "</think>", "42"];
            let named = faults::WORDS.iter().zip(texts);
            let say =
                |all: String| named.clone().fold(all, |all, (word, text)| all.replace(word, text));
            match is_generation(asked) {
                true => faults::stream(&all.into_iter().map(say).collect::<Vec<_>>()),
                false => faults::whole("404 Not Found", "application/json", "{}"),
            }
        });
        let (shown, _, pass) = measure(&url, dialect, "--split-think tagged");
        assert_eq!(pass["reasoning_tokens"]["mean"], 3.0, "{dialect}: {shown}");
        assert_eq!(pass["reasoning_share_pct"], 75.0, "{dialect}: {shown}");
        assert!(!shown.contains("think_in_text"), "{dialect}: {shown}");
        let (shown, _, pass) = measure(&url, dialect, "");
        for key in ["reasoning_tokens", "reasoning_share_pct", "reasoning_from", "ttfr_ms"] {
            assert!(pass[key].is_null(), "{dialect}, {key}: {pass}");
        }
        let offers = shown.contains("think_in_text") && shown.contains("--split-think tagged");
        assert!(offers && !shown.contains("TTFR"), "{dialect}: {shown}");
    }
}
