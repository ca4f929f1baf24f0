//! Embeddings and rankings, which have several inputs and no output tokens.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::{Engine, summary_of};
use crate::tiny_server;

const RUN: &str =
    "--yes --warmup 0 --input-lengths 16 --concurrency 2 --requests 6 --plots none --out out";

/// Runs with these flags. Returns the exit code, what was printed, and the summary if there is one.
fn run(flags: &str) -> (Option<i32>, String, Value) {
    summary_of(&format!("run {RUN} {flags}"))
}

/// The findings about tokens and answers.
fn codes(summary: &Value) -> Vec<&str> {
    let findings = summary["findings"].as_array().expect("findings").iter();
    let codes = findings.filter_map(|finding| finding["code"].as_str());
    let of_answers = ["input", "usage", "output", "empty", "dimensions"];
    codes.filter(|code| of_answers.iter().any(|begin| code.starts_with(begin))).collect()
}

#[test]
fn the_engine_answers_embeddings_and_rankings_without_any_figure_of_output() {
    let engine = Engine::start(&[]);
    let schema = include_str!("../../../../schema/summary.schema.json");
    let schema: Value = serde_json::from_str(schema).expect("JSON");
    for (flags, inputs, dimension) in [
        ("openai-embeddings --batch-size 4", 24, Some(64)),
        ("openai-embeddings --batch-size 3 --token-ids", 18, Some(64)),
        ("rerank --batch-size 5 --query-length 8", 30, None),
    ] {
        let (code, told, summary) = run(&format!("--target {} --dialect {flags}", engine.url));
        assert_eq!(code, Some(0), "{told}");
        let pass = &summary["cells"][0]["passes"][0];
        let pooled = &pass["pooled"];
        assert_eq!((&pooled["requests"], &pooled["inputs"]), (&json!(6), &json!(inputs)), "{told}");
        assert_eq!(pooled.get("dimension").and_then(Value::as_u64), dimension);
        let rate =
            |of: &Value, key: &str| of[key].as_f64().unwrap_or_else(|| panic!("{key}: {told}"));
        let per_request = rate(pooled, "inputs_per_s") / rate(pass, "requests_per_s");
        assert!((per_request - f64::from(inputs) / 6.0).abs() < 1e-6, "{told}");
        for absent in ["ttft_ms", "tpot_ms", "itl_ms", "output_tokens_per_s"] {
            assert!(pass.get(absent).is_none_or(Value::is_null), "{absent}: {}", pass[absent]);
        }
        assert!(pass["e2e_ms"]["p99"].is_number() && told.contains("Inputs/s"), "{told}");
        // A ranking counts its query with each document: no length is requested.
        let tokens = if dimension.is_some() { inputs * 16 } else { inputs * (16 + 8) };
        assert_eq!(pass["input_tokens"], tokens, "{told}");
        assert_eq!(codes(&summary), Vec::<&str>::new(), "{told}");
        assert!(jsonschema::is_valid(&schema, &summary), "{flags}");
    }
}

/// A server that answers each request with the result of `answer`, from the number of its inputs.
fn serving(answer: fn(usize) -> Value) -> (String, Arc<Mutex<Vec<Value>>>) {
    let bodies = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&bodies);
    let url = tiny_server::serve(move |asked| {
        let Ok(body) = serde_json::from_str::<Value>(&asked.body) else {
            return tiny_server::whole("404 Not Found", "{}");
        };
        let inputs = body["input"].as_array().or(body["documents"].as_array()).map_or(0, Vec::len);
        // Other requests only ask which server it is.
        if inputs == 0 {
            return tiny_server::whole("404 Not Found", "{}");
        }
        kept.lock().expect("a list").push(body);
        let answer = answer(inputs).to_string();
        tiny_server::whole("200 OK\r\ncontent-type: application/json", &answer)
    });
    (url, bodies)
}

fn vectors(count: usize, tokens: usize) -> Value {
    let vector = |index| json!({ "index": index, "embedding": "AACAPwAAAAA=" });
    let data: Vec<Value> = (0..count).map(vector).collect();
    json!({ "data": data, "usage": { "prompt_tokens": tokens, "total_tokens": tokens } })
}

#[test]
fn answers_that_lack_a_result_are_malformed_and_cut_inputs_are_a_finding() {
    for (dialect, answer, outcome, words) in [
        ("openai-embeddings", (|n| vectors(n, 16 * n)) as fn(usize) -> Value, "complete", ""),
        (
            "openai-embeddings",
            |n| vectors(n, if n > 1 { 10 * n } else { 24 }),
            "complete",
            "inputs_cut",
        ),
        ("openai-embeddings", |n| vectors(n.min(2), 16 * n), "malformed", "2 results instead of 3"),
        (
            "openai-embeddings",
            |n| json!({ "data": vec![json!({ "index": 0, "embedding": [1.0] }); n] }),
            "malformed",
            "not those of different inputs",
        ),
        (
            "rerank",
            |n| {
                let score = |index| json!({ "index": index, "relevance_score": index });
                json!({ "results": (0..n).map(score).collect::<Vec<_>>() })
            },
            "malformed",
            "do not fall",
        ),
        (
            "rerank",
            |n| {
                let score = |index| json!({ "index": index, "score": 1.0 });
                json!((0..n).map(score).collect::<Vec<_>>())
            },
            "complete",
            "",
        ),
    ] {
        let (url, bodies) = serving(answer);
        let flags = format!("--target {url} --dialect {dialect} --model m --batch-size 3");
        let (_, told, summary) = run(&flags);
        let outcomes = &summary["cells"][0]["passes"][0]["outcomes"];
        assert_eq!(outcomes[outcome], 6, "{dialect} {outcome}: {told}");
        assert!(told.contains(words), "{words}: {told}");
        if words.is_empty() && dialect == "openai-embeddings" {
            assert_eq!(codes(&summary), Vec::<&str>::new(), "{told}");
        }
        let bodies = bodies.lock().expect("a list");
        assert!(bodies.iter().all(|body| body.get("stream").is_none() && body["model"] == "m"));
    }
}

#[test]
fn what_embeddings_cannot_have_is_refused_before_the_run() {
    for (flags, why) in [
        ("--batch-size 4", "needs --dialect openai-embeddings"),
        ("--dialect openai-embeddings --query-length 4", "needs --dialect rerank"),
        ("--dialect openai-embeddings --batch-size 0", "from 1 to 2048"),
        ("--dialect openai-embeddings --output-lengths 8", "no output"),
        ("--dialect openai-embeddings --slo ttft_p50<1s", "without streaming"),
        ("--dialect openai-embeddings --images 1", "cannot send pictures"),
        ("--dialect openai-embeddings --workload conversation", "has no inputs"),
    ] {
        let (code, told, _) = run(flags);
        assert!(code == Some(2) && told.contains(why), "{flags}: {code:?} {told}");
    }
}
