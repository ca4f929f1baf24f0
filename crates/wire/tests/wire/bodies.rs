//! Tests of the bodies of requests in each dialect.

use inferometer_model::request::{Prompt, Request, Sampling, message};
use inferometer_model::{Media, MediaKind};
use inferometer_wire::WireError;
use inferometer_wire::dialect::{Dialect, FieldChange, dialect, dialects, media::split};
use serde_json::{Map, Value, json};

fn sampling(temperature: f64, ignore_eos: bool, stream: bool) -> Sampling {
    Sampling { temperature, ignore_eos, stream, extra_body: Map::new() }
}

pub fn request(prompt: Prompt) -> Request {
    Request::new(prompt, 2, 7)
}

fn body(dialect: &Dialect, sampling: &Sampling) -> Value {
    let request = request(Prompt::Text("hé \"x\"".to_owned()));
    let bytes = dialect.body(&request, sampling, "m", &[]).expect("every dialect accepts text");
    serde_json::from_slice(&bytes).expect("it is JSON")
}

#[test]
fn each_dialect_builds_its_own_request_body() {
    let plain = sampling(0.0, false, false);
    let full = sampling(0.5, true, true);
    let text = "hé \"x\"";
    let messages = json!([{"role": "user", "content": text}]);
    let usage = json!({"include_usage": true});
    let embeddings = json!({"model": "m", "input": [text], "encoding_format": "base64"});
    let ranking = json!({"model": "m", "query": text, "documents": [text]});
    let cases = [
        (
            "openai-completions",
            json!({
                "model": "m", "prompt": text, "max_tokens": 7, "temperature": 0.0,
                "stream": false,
            }),
            json!({
                "model": "m", "prompt": text, "max_tokens": 7, "temperature": 0.5,
                "stream": true, "stream_options": usage, "ignore_eos": true,
            }),
        ),
        (
            "openai-chat",
            json!({
                "model": "m", "messages": messages, "max_tokens": 7, "temperature": 0.0,
                "stream": false,
            }),
            json!({
                "model": "m", "messages": messages, "max_tokens": 7, "temperature": 0.5,
                "stream": true, "stream_options": usage, "ignore_eos": true,
            }),
        ),
        (
            "openai-responses",
            json!({
                "model": "m", "input": text, "max_output_tokens": 7, "temperature": 0.0,
                "stream": false,
            }),
            json!({
                "model": "m", "input": text, "max_output_tokens": 7, "temperature": 0.5,
                "stream": true, "ignore_eos": true,
            }),
        ),
        (
            "anthropic",
            json!({
                "model": "m", "messages": messages, "max_tokens": 7, "temperature": 0.0,
                "stream": false,
            }),
            json!({
                "model": "m", "messages": messages, "max_tokens": 7, "temperature": 0.5,
                "stream": true,
            }),
        ),
        (
            "vllm",
            json!({"prompt": text, "max_tokens": 7, "temperature": 0.0, "stream": false}),
            json!({
                "prompt": text, "max_tokens": 7, "temperature": 0.5, "stream": true,
                "ignore_eos": true,
            }),
        ),
        (
            "sglang",
            json!({
                "text": text, "sampling_params": {"max_new_tokens": 7, "temperature": 0.0},
                "stream": false,
            }),
            json!({
                "text": text,
                "sampling_params": {
                    "max_new_tokens": 7, "temperature": 0.5, "ignore_eos": true,
                },
                "stream": true,
            }),
        ),
        (
            "tgi",
            json!({
                "inputs": text,
                "parameters": {"max_new_tokens": 7, "details": true, "do_sample": false},
            }),
            json!({
                "inputs": text,
                "parameters": {
                    "max_new_tokens": 7, "details": true, "do_sample": true, "temperature": 0.5,
                },
            }),
        ),
        (
            "llama-cpp",
            json!({
                "prompt": text, "n_predict": 7, "temperature": 0.0, "stream": false,
                "cache_prompt": false,
            }),
            json!({
                "prompt": text, "n_predict": 7, "temperature": 0.5, "stream": true,
                "cache_prompt": false, "ignore_eos": true,
            }),
        ),
        (
            "ollama",
            json!({
                "model": "m", "messages": messages, "stream": false,
                "options": {"temperature": 0.0, "num_predict": 7},
            }),
            json!({
                "model": "m", "messages": messages, "stream": true,
                "options": {"temperature": 0.5, "num_predict": 7},
            }),
        ),
        (
            "triton",
            json!({
                "text_input": text, "max_tokens": 7, "temperature": 0.0, "stream": false,
                "bad_words": "", "stop_words": "",
            }),
            json!({
                "text_input": text, "max_tokens": 7, "temperature": 0.5, "stream": true,
                "bad_words": "", "stop_words": "",
            }),
        ),
        ("openai-embeddings", embeddings.clone(), embeddings),
        ("rerank", ranking.clone(), ranking),
    ];
    let named: Vec<&str> = cases.iter().map(|case| case.0).collect();
    assert_eq!(named, dialects().iter().map(|dialect| dialect.name).collect::<Vec<_>>());
    for (name, plain_body, full_body) in cases {
        let dialect = dialect(name).expect("a dialect");
        assert_eq!(body(dialect, &plain), plain_body, "{name}");
        assert_eq!(body(dialect, &full), full_body, "{name}");
    }
}

#[test]
fn user_fields_replace_default_body_fields_and_objects_are_merged() {
    let mut sampling = sampling(0.0, false, true);
    let extra =
        json!({"max_tokens": 1, "new": [1], "stream_options": {"continuous_usage_stats": true}});
    sampling.extra_body = extra.as_object().expect("an object").clone();
    let body = body(dialect("openai-completions").expect("a dialect"), &sampling);
    assert_eq!(body["max_tokens"], 1);
    assert_eq!(body["new"], json!([1]));
    let options = json!({"include_usage": true, "continuous_usage_stats": true});
    assert_eq!(body["stream_options"], options);
}

#[test]
fn token_ids_are_sent_by_dialects_that_accept_them_and_refused_by_the_others() {
    let request = request(Prompt::TokenIds(vec![1, 128_000]));
    for dialect in dialects() {
        let body = dialect.body(&request, &sampling(0.0, false, true), "m", &[]);
        if dialect.accepts_token_ids {
            let body: Value = serde_json::from_slice(&body.expect("a body")).expect("it is JSON");
            let ids = json!([1, 128_000]);
            let (field, expected) = match dialect.name {
                "sglang" => ("input_ids", ids),
                "openai-embeddings" => ("input", json!([ids])),
                _ => ("prompt", ids),
            };
            assert_eq!(body[field], expected, "{}", dialect.name);
        } else {
            assert_eq!(body, Err(WireError::TokenIds { dialect: dialect.name }));
        }
    }
}

#[test]
fn messages_are_sent_unchanged_by_dialects_that_accept_them_and_refused_by_the_others() {
    let mut messages = vec![message("user", "one")];
    messages.push(message("assistant", "two"));
    messages[0].insert("name".to_owned(), json!("x"));
    let request = request(Prompt::Messages(messages));
    for dialect in dialects() {
        let body = dialect.body(&request, &sampling(0.0, false, true), "m", &[]);
        if dialect.accepts_messages {
            let body: Value = serde_json::from_slice(&body.expect("a body")).expect("it is JSON");
            let expected = json!([
                {"role": "user", "content": "one", "name": "x"},
                {"role": "assistant", "content": "two"}
            ]);
            let field = if dialect.name == "openai-responses" { "input" } else { "messages" };
            assert_eq!(body[field], expected, "{}", dialect.name);
        } else {
            assert_eq!(body, Err(WireError::Messages { dialect: dialect.name }));
        }
    }
}

#[test]
fn the_anthropic_body_has_the_system_message_in_a_separate_field() {
    let mut messages = vec![message("system", "Be brief.")];
    messages.extend(vec![message("user", "one")]);
    let request = request(Prompt::Messages(messages));
    let dialect = dialect("anthropic").expect("a dialect");
    let body = dialect.body(&request, &sampling(0.0, false, true), "m", &[]).expect("a body");
    let body: Value = serde_json::from_slice(&body).expect("it is JSON");
    assert_eq!(body["system"], "Be brief.");
    assert_eq!(body["messages"], json!([{"role": "user", "content": "one"}]));
    assert_eq!(dialect.key_header("k"), ("x-api-key", "k".to_owned()));
}

#[test]
fn body_fields_of_a_request_replace_those_of_the_plan() {
    let mut sampling = sampling(0.0, false, true);
    sampling.extra_body =
        Map::from_iter([("model".to_owned(), json!("plan")), ("a".to_owned(), json!(1))]);
    sampling.extra_body.extend([("stream".to_owned(), Value::Null), ("b".to_owned(), json!(2))]);
    let mut request = request(Prompt::Text("x".to_owned()));
    request.extra_body =
        Map::from_iter([("model".to_owned(), json!("row")), ("b".to_owned(), Value::Null)]);
    for dialect in dialects() {
        let body = dialect.body(&request, &sampling, "m", &[]).expect("every dialect accepts text");
        let body: Value = serde_json::from_slice(&body).expect("it is JSON");
        assert_eq!((&body["model"], &body["a"]), (&json!("row"), &json!(1)), "{}", dialect.name);
        assert_eq!((body.get("stream"), body.get("b")), (None, None), "{}", dialect.name);
    }
}

#[test]
fn a_field_that_a_server_rejects_is_renamed_or_left_out_but_not_if_the_user_sets_it() {
    let changes = [
        FieldChange { field: "max_tokens", instead: Some("max_completion_tokens") },
        FieldChange { field: "temperature", instead: None },
        FieldChange { field: "absent", instead: Some("model") },
    ];
    let mut sampling = sampling(0.0, false, true);
    let request = request(Prompt::Text("x".to_owned()));
    let dialect = dialect("openai-chat").expect("a dialect");
    for set in [None, Some(0.5)] {
        sampling.extra_body.extend(set.map(|it| ("temperature".to_owned(), json!(it))));
        let body = dialect.body(&request, &sampling, "m", &changes).expect("a body");
        let body: Value = serde_json::from_slice(&body).expect("it is JSON");
        assert_eq!(body["max_completion_tokens"], request.output_tokens);
        assert_eq!((body.get("max_tokens"), &body["model"]), (None, &json!("m")));
        assert_eq!(body.get("temperature"), set.map(|it| json!(it)).as_ref());
    }
}

fn media(kind: MediaKind, media_type: &'static str) -> Media {
    let pieces = vec![b"Man".as_slice().into()];
    Media { kind, media_type, id: "".into(), pieces, size: (1, 1), duration_ms: 0 }
}

#[test]
fn pictures_and_sounds_follow_the_text_of_the_last_message_of_the_user() {
    let picture = || media(MediaKind::Image, "image/png");
    let sound = || media(MediaKind::Audio, "audio/wav");
    let chat = [message("user", "a"), message("assistant", "b"), message("user", "c")];
    let uri = "data:image/png;base64,TWFu";
    let image_url = json!({"type": "image_url", "image_url": {"url": uri}});
    let input_image = json!({"type": "input_image", "image_url": uri});
    let source = json!({"type": "base64", "media_type": "image/png", "data": "TWFu"});
    let image = json!({"type": "image", "source": source});
    let audio = json!({"type": "input_audio", "input_audio": {"data": "TWFu", "format": "wav"}});
    let text = |kind: &str| json!({"type": kind, "text": "c"});
    for (name, field, kind, files, expected) in [
        ("openai-chat", "messages", "text", vec![picture(), sound()], vec![&image_url, &audio]),
        (
            "openai-responses",
            "input",
            "input_text",
            vec![picture(), picture()],
            vec![&input_image; 2],
        ),
        ("anthropic", "messages", "text", vec![picture()], vec![&image]),
    ] {
        let expected = [vec![text(kind)], expected.into_iter().cloned().collect()].concat();
        for prompt in [Prompt::Text("c".to_owned()), Prompt::Messages(chat.to_vec())] {
            let mut request = request(prompt);
            request.media.clone_from(&files);
            let dialect = dialect(name).expect("a dialect");
            let body =
                dialect.body(&request, &sampling(0.0, false, true), "m", &[]).expect("a body");
            let texts = split(&body, files.len()).expect("a mark for each file");
            let body: Value =
                serde_json::from_slice(&texts.join(&b"TWFu"[..])).expect("it is JSON");
            let last = body[field].as_array().and_then(|messages| messages.last());
            assert_eq!(last.map(|last| &last["content"]), Some(&json!(expected)), "{name}");
        }
    }
}

#[test]
fn ollama_has_pictures_beside_the_text_and_arguments_of_calls_as_objects() {
    let mut call = message("assistant", "");
    let function = json!({"name": "f", "arguments": "{\"x\": 1}"});
    call.insert("tool_calls".to_owned(), json!([{"id": "a", "function": function}]));
    let mut request = request(Prompt::Messages(vec![message("user", "a"), call]));
    request.media = vec![media(MediaKind::Image, "image/png"); 2];
    let dialect = dialect("ollama").expect("a dialect");
    let mut sampling = sampling(0.0, false, true);
    sampling.set_num_ctx(4_096);
    sampling.set_num_ctx(8_192);
    let body = dialect.body(&request, &sampling, "m", &[]).expect("a body");
    let texts = split(&body, 2).expect("a mark for each file");
    let body: Value = serde_json::from_slice(&texts.join(&b"TWFu"[..])).expect("it is JSON");
    assert_eq!(body["messages"][0]["images"], json!(["TWFu", "TWFu"]));
    assert_eq!(body["messages"][0]["content"], "a");
    assert_eq!(body["messages"][1]["tool_calls"][0]["function"]["arguments"], json!({"x": 1}));
    assert_eq!((&body["options"]["num_ctx"], sampling.num_ctx()), (&json!(4_096), Some(4_096)));
}

#[test]
fn a_dialect_without_a_part_for_a_medium_refuses_it_before_and_while_it_makes_a_body() {
    for dialect in dialects() {
        for kind in MediaKind::ALL {
            let mut request = request(Prompt::Text("x".to_owned()));
            request.media.push(media(kind, "image/png"));
            let error = dialect.body(&request, &sampling(0.0, false, true), "m", &[]).err();
            assert_eq!(error, dialect.refuses(kind), "{}", dialect.name);
            let with_images = ["openai-chat", "openai-responses", "anthropic", "ollama"];
            let accepts = match kind {
                MediaKind::Image => with_images.contains(&dialect.name),
                MediaKind::Audio => dialect.name == "openai-chat",
            };
            assert_eq!(error.is_none(), accepts, "{} {kind:?}", dialect.name);
        }
    }
}

#[test]
fn dialects_are_found_by_their_names() {
    let names: Vec<&str> = dialects().iter().map(|dialect| dialect.name).collect();
    let expected = [
        "openai-completions", "openai-chat", "openai-responses", "anthropic", "vllm", "sglang",
        "tgi", "llama-cpp", "ollama", "triton", "openai-embeddings", "rerank",
    ];
    assert_eq!(names, expected);
    for name in names {
        let dialect = dialect(name).expect("it is listed");
        assert_eq!(dialect.name, name);
        assert!(!dialect.description.contains('\n') && dialect.source.starts_with("https://"));
        assert!(dialect.path(true).starts_with('/') && dialect.path(false).starts_with('/'));
    }
    assert!(dialect("OpenAI").is_none());
    let deaf: Vec<&str> =
        dialects().iter().filter(|one| !one.honours_ignore_eos).map(|one| one.name).collect();
    assert_eq!(
        deaf,
        ["openai-responses", "anthropic", "tgi", "ollama", "triton", "openai-embeddings", "rerank"]
    );
    let silent: Vec<&str> =
        dialects().iter().filter(|one| !one.reports_usage).map(|one| one.name).collect();
    assert_eq!(silent, ["vllm", "triton"]);
}
