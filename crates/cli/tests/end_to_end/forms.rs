//! Tool calls and answers of a given form: they are judged, counted, timed, and wrong ones are findings.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{fits_its_schema, folder, inferometer, is_generation, told};
use crate::tiny_server::{Part, serve_in_parts, whole};

/// The time before a tool call, and from there to the end of its arguments, in milliseconds.
const PLANTED_MS: [u64; 2] = [40, 120];

/// A row of the data set: the prompt, what its answer says, and the fields that ask for a form.
fn rows() -> Vec<(&'static str, Value, Value)> {
    let schema =
        json!({"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}});
    let tools = json!({"tools": [{"type": "function", "function": {"name": "weather", "parameters": schema}}]});
    let format = json!({"response_format": {"type": "json_schema", "json_schema": {"name": "c", "schema": schema}}});
    let call = |name: &str, arguments: &str| json!({"name": name, "arguments": arguments});
    vec![
        ("good call", call("weather", r#"{"city":"Rome"}"#), tools.clone()),
        ("wrong type", call("weather", r#"{"city":7}"#), tools.clone()),
        ("unknown tool", call("climate", r#"{"city":"Rome"}"#), tools.clone()),
        ("plain words", json!("It rains."), tools),
        ("good form", json!(r#"{"city":"Rome"}"#), format.clone()),
        ("plain words for a schema", json!("Rome"), format),
        ("never offered", call("weather", "{}"), json!({})),
        ("free text", json!("Hello"), json!({})),
    ]
}

/// A chat server that gives each prompt its answer, in two parts if it is a tool call.
fn serve() -> String {
    serve_in_parts(|asked| {
        let body = serde_json::from_str::<Value>(&asked.body).unwrap_or_default();
        let prompt = body["messages"][0]["content"].as_str().unwrap_or_default();
        let all = rows();
        let row = all.iter().find(|(named, ..)| prompt == *named);
        let (Some((_, said, _)), true) = (row, is_generation(asked)) else {
            return vec![whole("404 Not Found", "{}").into()];
        };
        let choice = |delta: Value, reason: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
        let part = |delta: Value| format!("data: {}\n\n", choice(delta, json!(null)));
        let head =
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        let end = format!("data: {}\n\ndata: [DONE]\n\n", choice(json!({}), json!("stop")));
        let mut parts: Vec<Part> = vec![head.to_owned().into()];
        match said.as_str() {
            Some(text) => parts.push(part(json!({"content": text})).into()),
            None => {
                let begin = json!({"name": said["name"], "arguments": ""});
                let begin = part(json!({"tool_calls": [{"index": 0, "function": begin}]}));
                let rest = json!({"arguments": said["arguments"]});
                let rest = part(json!({"tool_calls": [{"index": 0, "function": rest}]}));
                let pause = PLANTED_MS.map(Duration::from_millis);
                parts.extend([pause[0].into(), begin.into(), pause[1].into(), rest.into()]);
            }
        }
        parts.push(end.into());
        parts
    })
}

#[test]
fn tool_calls_and_texts_of_a_given_form_are_judged_counted_and_timed() {
    let folder = folder();
    let line = |(prompt, _, asks): &(&str, Value, Value)| {
        let mut row = asks.clone();
        row["messages"] = json!([{"role": "user", "content": prompt}]);
        row["output_tokens"] = json!(64);
        format!("{row}\n")
    };
    let lines: String = rows().iter().map(line).collect();
    std::fs::write(folder.path().join("rows.jsonl"), lines).unwrap();
    let url = serve();
    let line = format!(
        "run --target {url} --dialect openai-chat --model m --yes --warmup 0 --workload jsonl --dataset rows.jsonl \
         --requests 8 --concurrency 1 --out out --slo tool_call_end_p50<3600s"
    );
    let run = inferometer(folder.path(), &line.split_whitespace().collect::<Vec<_>>());
    let shown = format!("{}{}", String::from_utf8_lossy(&run.stdout), told(&run));
    let summary = std::fs::read(folder.path().join("out/summary.json")).expect("a summary");
    let summary: Value = serde_json::from_slice(&summary).expect("JSON");
    fits_its_schema(&summary);
    let pass = &summary["cells"][0]["passes"][0];
    let ci = pass["structured"]["valid_ci"].clone();
    assert_eq!(
        pass["structured"],
        json!({
            "requests": 7, "valid": 3, "valid_ci": ci, "with_tools": 4, "with_calls": 4,
            "calls": {"fits": 1, "unfit": 1, "not_offered": 2}, "texts": {"fits": 1, "not_json": 1},
        }),
        "{shown}"
    );
    let p50 = |key: &str| pass[key]["p50"].as_f64().unwrap_or_else(|| panic!("{key}: {pass}"));
    // A busy machine makes times longer, never shorter.
    assert!(p50("tool_call_begin_ms") >= PLANTED_MS[0] as f64, "{pass}");
    assert!(p50("tool_call_end_ms") - p50("tool_call_begin_ms") >= 0.9 * PLANTED_MS[1] as f64);
    for code in ["tool_not_offered", "tool_calls_invalid", "format_not_kept"] {
        assert!(shown.contains(code), "{code}: {shown}");
    }
    assert!(!shown.contains("output_shorter"), "{shown}");
    let table = "Tool calls and structured outputs";
    assert!(shown.contains(table) && shown.contains("1 fits, 1 unfit, 2 not offered"), "{shown}");
    let report = inferometer(folder.path(), &["report", "latest", "--json", "--out", "again"]);
    let again: Value = serde_json::from_slice(&report.stdout).expect("JSON");
    assert_eq!(again["cells"][0]["passes"][0]["structured"], pass["structured"]);
}
