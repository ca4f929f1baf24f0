//! Tests the answers to requests with the API of each engine.

use std::time::Duration;

use inferometer_engine::profile::profile;
use inferometer_engine::serve::FrontConfig;
use inferometer_model::outcome::Outcome;
use inferometer_model::time::Nanos;
use inferometer_wire::dialect::dialect;
use serde_json::{Value, json};

use super::client::{
    Call, DIALECTS, PROMPT, ask, call, dialect_call, engine_config, read_as, response, with_engine,
    with_front,
};

#[test]
fn every_dialect_gets_a_complete_answer_streamed_or_not() {
    for name in DIALECTS {
        for stream in [true, false] {
            let calls = with_front(|_| (), vec![dialect_call(name, stream, 6)]);
            let reader = read_as(name, stream, &calls[0]);
            assert_eq!(reader.verdict(), (Outcome::Complete, None), "{name} {stream}");
            let text = reader.parsed().text.clone().unwrap();
            assert_eq!(text.split_whitespace().count(), 6, "{name} {stream}: {text:?}");
            let prompt = if name == "openai-chat" { 15 } else { 10 };
            if dialect(name).unwrap().reports_usage {
                let usage = reader.parsed().usage;
                assert_eq!(usage.completion, Some(6), "{name} {stream}");
                assert!(usage.prompt.is_none_or(|tokens| tokens == prompt), "{name} {stream}");
            }
        }
    }
}

#[test]
fn a_prompt_may_consist_of_token_ids() {
    let body = json!({ "model": "chatglm3-6b", "prompt": [5, 6, 7], "max_tokens": 2 });
    let (status, answer) = ask("POST", "/v1/completions", Some(&body));
    assert_eq!((status, &answer["usage"]["prompt_tokens"]), (200, &json!(3)));
    assert_eq!(answer["choices"][0]["finish_reason"], "length");
}

#[test]
fn invalid_requests_get_the_error_messages_of_vllm() {
    let long = json!({ "model": "chatglm3-6b", "prompt": PROMPT, "max_tokens": 8183 });
    let (status, answer) = ask("POST", "/v1/completions", Some(&long));
    let message = answer["message"].as_str().unwrap();
    assert_eq!((status, &answer["object"]), (400, &json!("error")));
    assert!(
        message.starts_with(
            "This model's maximum context length is 8192 tokens. However, you requested 8193 \
             tokens (10 in the messages, 8183 in the completion)."
        ),
        "{message}"
    );
    let other = json!({ "model": "x", "prompt": PROMPT });
    let (status, answer) = ask("POST", "/v1/completions", Some(&other));
    assert_eq!((status, &answer["message"]), (404, &json!("The model `x` does not exist.")));
}

#[test]
fn a_message_of_the_model_may_have_calls_of_tools_instead_of_a_text() {
    let tokens = |messages: Value| {
        let body = json!({ "model": "chatglm3-6b", "messages": messages, "max_tokens": 2 });
        let (status, answer) = ask("POST", "/v1/chat/completions", Some(&body));
        assert_eq!(status, 200, "{answer}");
        answer["usage"]["prompt_tokens"].as_u64().expect("a count")
    };
    let user = json!({ "role": "user", "content": "read it" });
    let function = json!({ "name": "read_file", "arguments": "{\"path\":\"x.txt\"}" });
    let calls = json!([{ "id": "1", "type": "function", "function": function }]);
    let model =
        |content: Value| json!({ "role": "assistant", "content": content, "tool_calls": calls });
    let result = json!({ "role": "tool", "tool_call_id": "1", "content": "done" });
    let with_calls = tokens(json!([user, model(Value::Null), result]));
    let with_both = tokens(json!([user, model(json!("well then, let us read it")), result]));
    assert!(tokens(json!([user, result])) < with_calls && with_calls < with_both);
}

#[test]
fn pictures_and_sounds_are_prompt_tokens_that_the_usage_states_apart() {
    let ask_with = |part: Value| {
        let content = json!([{ "type": "text", "text": "see" }, part]);
        let messages = json!([{ "role": "user", "content": content }]);
        let body = json!({ "model": "chatglm3-6b", "messages": messages, "max_tokens": 2 });
        ask("POST", "/v1/chat/completions", Some(&body))
    };
    let (_, plain) = ask_with(json!({ "type": "text", "text": "" }));
    assert!(plain["usage"].get("prompt_tokens_details").is_none(), "{plain}");
    // A GIF of 56 x 84 pixels, and a WAV file of 0.1 s without samples: 16 bytes at 160 bytes/s.
    let gif = "data:image/gif;base64,R0lGODlhOABUAAAAAA==";
    let wav = "UklGRjQAAABXQVZFZm10IBAAAAABAAEAoAAAAKAAAAABAAgAZGF0YRAAAAAAAAAAAAAAAAAAAAAAAAAA";
    let image = |url: &str| json!({ "type": "image_url", "image_url": { "url": url } });
    let audio = json!({ "type": "input_audio", "input_audio": { "data": wav, "format": "wav" } });
    for (part, kind, tokens) in [(image(gif), "image", 6), (audio, "audio", 3)] {
        let (status, answer) = ask_with(part);
        assert_eq!(status, 200, "{answer}");
        let usage = &answer["usage"];
        assert_eq!(usage["prompt_tokens_details"]["multimodal_tokens"], json!({ kind: tokens }));
        let text = plain["usage"]["prompt_tokens"].as_u64().expect("a count");
        assert_eq!(usage["prompt_tokens"], text + tokens, "{kind}");
    }
    for (part, why) in [
        (image("https://example.org/a.png"), "data URIs"),
        (image("data:image/png;base64,AAAA"), "cannot identify image file"),
        (image("data:image/png;base64,?"), "not base64"),
        (json!({ "type": "video_url" }), "video_url, which is not served"),
    ] {
        let (status, answer) = ask_with(part);
        let message = answer["message"].as_str().unwrap_or_default();
        assert!(status == 400 && message.contains(why), "{status} {answer}");
    }
}

#[test]
fn equal_inputs_have_equal_vectors_of_length_1_and_documents_are_ranked_by_their_scores() {
    let inputs = json!({ "model": "chatglm3-6b", "input": ["a b", "c", "a b"] });
    let (status, answer) = ask("POST", "/v1/embeddings", Some(&inputs));
    assert_eq!((status, &answer["usage"]["prompt_tokens"]), (200, &json!(5)), "{answer}");
    let vector = |at: usize| -> Vec<f64> {
        let numbers = answer["data"][at]["embedding"].as_array().expect("a list");
        numbers.iter().filter_map(Value::as_f64).collect()
    };
    let [first, other, again] = [0, 1, 2].map(vector);
    assert!(first == again && first != other && first.len() == 64);
    assert!((first.iter().map(|it| it * it).sum::<f64>() - 1.0).abs() < 1e-5);
    let base64 = json!({ "model": "chatglm3-6b", "input": [5, 6], "encoding_format": "base64" });
    let (_, answer) = ask("POST", "/v1/embeddings", Some(&base64));
    let text = answer["data"][0]["embedding"].as_str().expect("a text");
    assert_eq!((text.len(), &answer["usage"]["prompt_tokens"]), (344, &json!(2)));
    let ask_for = |top_n: Value| {
        let documents = json!(["c", "a b", "d"]);
        let body = json!({ "model": "chatglm3-6b", "query": "a b", "documents": documents, "top_n": top_n });
        ask("POST", "/v1/rerank", Some(&body)).1
    };
    let answer = ask_for(Value::Null);
    let results = answer["results"].as_array().expect("a list");
    assert_eq!((results.len(), &results[0]["index"]), (3, &json!(1)), "{answer}");
    assert!(
        results.is_sorted_by(|a, b| a["relevance_score"].as_f64() >= b["relevance_score"].as_f64())
    );
    assert_eq!(ask_for(json!(1))["results"], json!([results[0]]));
    for (path, body) in [
        ("/v1/embeddings", json!({ "model": "chatglm3-6b", "input": [] })),
        ("/v1/embeddings", json!({ "model": "chatglm3-6b", "input": ["a", ""] })),
        ("/v1/embeddings", json!({ "model": "chatglm3-6b", "input": "a", "encoding_format": "x" })),
        ("/v1/rerank", json!({ "model": "chatglm3-6b", "documents": ["a"] })),
    ] {
        assert_eq!(ask("POST", path, Some(&body)).0, 400, "{body}");
    }
}

#[test]
fn invalid_requests_get_the_matching_http_status() {
    let model = "chatglm3-6b";
    for (method, path, body, expected) in [
        ("POST", "/v1/completions", json!([]), 400),
        ("POST", "/v1/completions", json!({ "model": model }), 400),
        ("POST", "/v1/completions", json!({ "model": model, "prompt": "" }), 400),
        ("POST", "/v1/completions", json!({ "model": model, "prompt": ["a", "b"] }), 400),
        ("POST", "/v1/completions", json!({ "model": model, "prompt": "a", "max_tokens": 0 }), 400),
        ("POST", "/v1/completions", json!({ "model": model, "prompt": "a", "n": 2 }), 400),
        ("POST", "/v1/chat/completions", json!({ "model": model, "messages": [] }), 400),
        ("POST", "/generate", json!({ "max_tokens": 3 }), 400),
        ("POST", "/generate", json!({ "inputs": "" }), 422),
        (
            "POST",
            "/generate",
            json!({ "inputs": "a", "parameters": { "max_new_tokens": 9000 } }),
            422,
        ),
        ("GET", "/v1/completions", json!({}), 405),
        ("POST", "/nowhere", json!({}), 404),
    ] {
        let (status, answer) = ask(method, path, Some(&body));
        assert_eq!(status, expected, "{path} {body}: {answer}");
    }
    let not_json = Call {
        send: b"POST /generate HTTP/1.1\r\ncontent-length: 1\r\n\r\n{".to_vec(),
        expected: 1,
        ..Call::default()
    };
    assert_eq!(response(&with_front(|_| (), vec![not_json])[0]).0, 400);
    let not_http =
        Call { send: b"\x16\x03\x01 hello\r\n\r\n".to_vec(), expected: 2, ..Call::default() };
    let calls = with_front(|_| (), vec![not_http]);
    assert_eq!((response(&calls[0]).0, calls[0].end), (400, Some("closed")));
}

#[test]
fn informational_endpoints_describe_the_served_model() {
    let (_, models) = ask("GET", "/v1/models", None);
    assert_eq!(models["data"][0]["id"], "chatglm3-6b");
    assert_eq!(models["data"][0]["max_model_len"], 8192);
    assert_eq!(ask("GET", "/version", None).1["version"], "0.2.7");
    assert_eq!(ask("GET", "/health", None).0, 200);
    assert_eq!(ask("GET", "/info", None).1["max_total_tokens"], 8192);
    let body = json!({ "model": "chatglm3-6b", "prompt": PROMPT });
    let (_, tokens) = ask("POST", "/tokenize", Some(&body));
    assert_eq!((&tokens["count"], &tokens["max_model_len"]), (&json!(10), &json!(8192)));
    assert_eq!(tokens["tokens"][2], 5);
    let (_, text) = ask("POST", "/detokenize", Some(&json!({ "tokens": [4, 2] })));
    assert_eq!(text["prompt"], " w4 w2");
}

#[test]
fn a_current_engine_caches_prompt_prefixes_and_exports_current_metrics() {
    let metrics = metrics_after_a_repeated_prompt(None);
    for line in [
        "vllm:prefix_cache_queries_total{model_name=\"chatglm3-6b\"} 128",
        "vllm:prefix_cache_hits_total{model_name=\"chatglm3-6b\"} 48",
        "vllm:kv_cache_usage_perc{model_name=\"chatglm3-6b\"} 0",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line}: {metrics}");
    }
    for gone in ["gpu_cache_usage_perc", "time_per_output_token_seconds"] {
        assert!(!metrics.contains(gone), "{gone}");
    }
}

#[test]
fn an_engine_whose_prefix_cache_is_off_counts_no_queries_of_the_cache() {
    let metrics = metrics_after_a_repeated_prompt(Some(false));
    for name in ["prefix_cache_queries_total", "prefix_cache_hits_total"] {
        let line = format!("vllm:{name}{{model_name=\"chatglm3-6b\"}} 0");
        assert!(metrics.lines().any(|found| found == line), "{line}: {metrics}");
    }
}

/// The metrics of a current engine after two requests with the same prompt of 64 tokens.
fn metrics_after_a_repeated_prompt(prefix_caching: Option<bool>) -> String {
    let mut engine = engine_config();
    engine.profile = profile("a100-40g-vllm-0.32").expect("a known profile");
    engine.prefix_caching = prefix_caching;
    let prompt = "word ".repeat(64);
    let body = json!({ "model": "chatglm3-6b", "prompt": prompt, "max_tokens": 2 });
    let mut calls = vec![call("POST", "/v1/completions", Some(&body))];
    for second in 1..=2_u64 {
        let body = (second == 1).then_some(&body);
        let mut later = match body {
            Some(body) => call("POST", "/v1/completions", Some(body)),
            None => call("GET", "/metrics", None),
        };
        later.at = Nanos(second * 1_000_000_000);
        calls.push(later);
    }
    let calls = with_engine(engine, FrontConfig::new("chatglm3-6b"), Duration::ZERO, calls);
    response(&calls[2]).1
}

#[test]
fn a_prompt_that_the_engine_ignores_gets_an_empty_answer() {
    let prompt = "a ".repeat(8193);
    let body = json!({ "prompt": prompt, "max_tokens": 5 });
    let (status, answer) = ask("POST", "/generate", Some(&body));
    assert_eq!((status, &answer["text"][0]), (200, &json!(prompt)));
}

#[test]
fn output_may_end_early_at_end_of_text_unless_ignore_eos_is_set() {
    let body = |ignore: bool| {
        let mut body = json!({ "model": "chatglm3-6b", "prompt": PROMPT, "max_tokens": 500 });
        body["ignore_eos"] = json!(ignore);
        body
    };
    let finish = |ignore| {
        let change = |config: &mut FrontConfig| config.end_of_text_within = Some(20);
        let calls = with_front(change, vec![call("POST", "/v1/completions", Some(&body(ignore)))]);
        let answer: Value = serde_json::from_str(&response(&calls[0]).1).unwrap();
        let tokens = answer["usage"]["completion_tokens"].as_u64().unwrap();
        (answer["choices"][0]["finish_reason"].as_str().unwrap().to_owned(), tokens)
    };
    let (reason, tokens) = finish(false);
    assert!(reason == "stop" && tokens <= 20, "{reason} {tokens}");
    assert_eq!(finish(true), ("length".to_owned(), 500));
}
