//! Tests of messages that servers may send in addition to the recorded ones: in their native APIs, and in the
//! typed events of newer APIs.

use inferometer_model::outcome::Outcome;
use inferometer_model::record::{ServerTime, ServerTimes, Usage};
use inferometer_wire::http::response_head;

use crate::support::{Reading, read, response, sse, streamed};

fn stream(dialect: &str, data: &[&str]) -> Reading {
    read(dialect, true, [&sse(data)[..]])
}

fn whole(dialect: &str, body: &str) -> Reading {
    read(dialect, false, [&response(200, "application/json", body)[..]])
}

#[test]
fn cumulative_and_incremental_sglang_streams_give_the_same_events() {
    let message = |text: &str, ids: &str, count: u32, finish: &str| {
        format!(
            r#"{{"text":"{text}","output_ids":[{ids}],"meta_info":{{"prompt_tokens":4,"completion_tokens":{count},"finish_reason":{finish}}}}}"#
        )
    };
    let end = r#"{"type":"stop"}"#;
    let cumulative = [
        message("a", "1", 1, "null"),
        message("ab", "1,2", 2, "null"),
        message("abc", "1,2,3,4", 4, end),
    ];
    let incremental =
        [message("a", "1", 1, "null"), message("b", "2", 2, "null"), message("c", "3,4", 4, end)];
    for messages in [cumulative, incremental] {
        let data: Vec<&str> = messages.iter().map(String::as_str).chain(["[DONE]"]).collect();
        let reading = stream("sglang", &data);
        assert_eq!((reading.outcome, &*reading.kinds), (Outcome::Complete, "TTTFUD"));
        assert_eq!((&*reading.text, reading.finish.as_deref()), ("abc", Some("stop")));
        assert_eq!(reading.sizes[..3], [(1, Some(1)), (1, Some(1)), (1, Some(2))]);
    }
    let abort = message("a", "1", 1, r#"{"type":"abort","message":"out of memory"}"#);
    let reading = stream("sglang", &[&abort, "[DONE]"]);
    assert_eq!(reading.outcome, Outcome::ServerError);
    assert_eq!(reading.detail.as_deref(), Some("out of memory"));
    let cases =
        [(r#"{"error":{"message":"died"}}"#, Outcome::ServerError), ("{}", Outcome::Truncated)];
    for (message, outcome) in cases {
        assert_eq!(stream("sglang", &[message]).outcome, outcome, "{message}");
    }
}

#[test]
fn llama_cpp_streams_without_counts_have_one_token_per_message_and_end_with_stop() {
    let text = |text: &str| format!(r#"{{"content":"{text}","stop":false}}"#);
    let end = r#"{"content":"","stop":true,"stop_type":"eos"}"#;
    let reading = stream("llama-cpp", &[&text("a"), &text(""), &text("b"), end]);
    assert_eq!((reading.outcome, &*reading.kinds), (Outcome::Complete, "TeTFU"));
    assert_eq!(reading.finish.as_deref(), Some("eos"));
    let cases: &[(&[&str], Outcome)] = &[
        (&[&text("a")], Outcome::Truncated),
        (&[&text("a"), r#"{"error":{"message":"died"}}"#], Outcome::ServerError),
        (&[&text("a"), end, &text("b")], Outcome::Malformed),
        (&[end], Outcome::Complete),
        (&[r#"{"stop":true}"#], Outcome::Complete),
        (&["{}"], Outcome::Truncated),
    ];
    for (data, outcome) in cases {
        assert_eq!(stream("llama-cpp", data).outcome, *outcome, "{data:?}");
    }
}

#[test]
fn ollama_streams_lines_whose_last_one_has_the_counts_and_times_unless_they_are_0() {
    use ServerTime::{Decode, Load, Prefill, Total};
    let said = |message: &str| {
        format!(r#"{{"model":"m","message":{{"role":"assistant",{message}}},"done":false}}"#)
    };
    let end = r#"{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"length",
        "total_duration":174560334,"load_duration":101397084,"prompt_eval_count":11,
        "prompt_eval_duration":13074791,"eval_count":18,"eval_duration":52479709}"#
        .replace('\n', "");
    let lines = |lines: &[String]| {
        let lines: Vec<String> = lines.iter().map(|line| format!("{line}\n")).collect();
        read("ollama", true, [&streamed("application/x-ndjson", &lines)[..]])
    };
    let think = said(r#""content":"","thinking":"hm""#);
    let text = said(r#""content":"a""#);
    let call = said(r#""content":"","tool_calls":[{"function":{"name":"f","arguments":{"x":1}}}]"#);
    let reading = lines(&[think, text.clone(), call.clone(), end.clone()]);
    assert_eq!((reading.outcome, &*reading.kinds), (Outcome::Complete, "GTCFU"));
    assert_eq!((&*reading.reasoning, &*reading.text), ("hm", "a"));
    assert_eq!(reading.sizes[2], (7, None), "the arguments are a text");
    assert_eq!(reading.finish.as_deref(), Some("length"));
    assert_eq!((reading.usage.prompt, reading.usage.completion), (Some(11), Some(18)));
    let times = [(Load, 101_397), (Prefill, 13_075), (Decode, 52_480), (Total, 174_560)];
    let times = times.map(|(time, us)| (time, Some(us)));
    let times = times.iter().fold(ServerTimes::default(), |all, &(time, us)| all.with(time, us));
    assert_eq!(reading.server_times, times);

    // A prompt from the cache has no counts and times.
    let bare = r#"{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","eval_count":1}"#;
    let reading = lines(&[text.clone(), bare.to_owned()]);
    assert_eq!((reading.usage.prompt, reading.server_times), (None, ServerTimes::default()));
    let error = r#"{"error":"model runner has unexpectedly stopped"}"#.to_owned();
    for (sent, outcome) in [
        (vec![text.clone(), error], Outcome::ServerError),
        (vec![text.clone()], Outcome::Truncated),
        (vec![text.clone(), end.clone(), text], Outcome::Malformed),
        (vec!["{}".to_owned(), end.clone()], Outcome::Complete),
    ] {
        assert_eq!(lines(&sent).outcome, outcome, "{sent:?}");
    }
    let reading =
        whole("ollama", &end.replace(r#""content":"""#, r#""content":"ab","thinking":"hm""#));
    assert_eq!((reading.outcome, &*reading.kinds), (Outcome::Complete, "GTFU"));
    assert_eq!(reading.sizes[..2], [(2, Some(18)), (2, Some(0))]);
}

#[test]
fn triton_messages_are_incremental_and_the_stream_ends_with_the_http_body() {
    let text = |text: &str| format!(r#"{{"model_name":"ensemble","text_output":"{text}"}}"#);
    let reading = stream("triton", &[&text("a"), &text(""), &text("b")]);
    assert_eq!(
        (reading.outcome, &*reading.kinds, &*reading.text),
        (Outcome::Complete, "TeT", "ab")
    );
    let error = r#"{"error":"in ensemble, failed"}"#;
    let reading = stream("triton", &[&text("a"), error]);
    assert_eq!(reading.outcome, Outcome::ServerError);
    assert_eq!(reading.detail.as_deref(), Some("in ensemble, failed"));
    assert_eq!(whole("triton", &text("ab")).kinds, "T");
    assert_eq!(whole("triton", r#"{"outputs":[]}"#).outcome, Outcome::Malformed);
}

#[test]
fn anthropic_thinking_text_and_tool_use_blocks_are_parsed() {
    let start = r#"{"type":"message_start","message":{"usage":{"input_tokens":5,"cache_read_input_tokens":2,"output_tokens":1}}}"#;
    let delta =
        |delta: &str| format!(r#"{{"type":"content_block_delta","index":0,"delta":{{{delta}}}}}"#);
    let think = delta(r#""type":"thinking_delta","thinking":"hm""#);
    let text = delta(r#""type":"text_delta","text":"a""#);
    let tool = delta(r#""type":"input_json_delta","partial_json":"{\"x\"""#);
    let end = r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}"#;
    let stop = r#"{"type":"message_stop"}"#;
    let ping = r#"{"type":"ping"}"#;
    let reading = stream("anthropic", &[start, ping, &think, &text, &tool, end, stop]);
    assert_eq!((reading.outcome, &*reading.kinds), (Outcome::Complete, "RcGTCFUD"));
    assert_eq!((&*reading.reasoning, &*reading.text), ("hm", "a"));
    let usage = reading.usage;
    assert_eq!((usage.prompt, usage.completion, usage.cached), (Some(7), Some(9), Some(2)));

    let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let reading = stream("anthropic", &[start, &text, error]);
    assert_eq!(reading.outcome, Outcome::ServerError);
    assert_eq!(reading.detail.as_deref(), Some("Overloaded"));
    assert_eq!(stream("anthropic", &[start, &text]).outcome, Outcome::Truncated);
    assert_eq!(stream("anthropic", &[start, &text, end, stop, &text]).outcome, Outcome::Malformed);

    let body = r#"{"type":"message","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"a"},
        {"type":"tool_use","name":"f","input":{}}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":4}}"#;
    let reading = whole("anthropic", body);
    assert_eq!((reading.outcome, &*reading.kinds), (Outcome::Complete, "GTCFU"));
    assert_eq!(reading.sizes.iter().filter_map(|size| size.1).collect::<Vec<_>>(), [4, 0, 0]);
    assert_eq!(whole("anthropic", error).outcome, Outcome::ServerError);
}

#[test]
fn the_last_event_of_the_responses_api_determines_the_outcome() {
    let delta =
        |kind: &str, text: &str| format!(r#"{{"type":"response.{kind}.delta","delta":"{text}"}}"#);
    let (think, text) = (delta("reasoning_text", "hm"), delta("output_text", "a"));
    let tool = delta("function_call_arguments", "{}");
    let cut = r#"{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"usage":{"input_tokens":3,"output_tokens":5}}}"#;
    let reading = stream("openai-responses", &[&think, &text, &tool, cut, "[DONE]"]);
    assert_eq!((reading.outcome, &*reading.kinds), (Outcome::Complete, "GTCFUD"));
    assert_eq!(reading.finish.as_deref(), Some("max_output_tokens"));
    assert_eq!((reading.usage.prompt, reading.usage.completion), (Some(3), Some(5)));

    let failed = r#"{"type":"response.failed","response":{"error":{"code":"x","message":"died"}}}"#;
    for error in [failed, r#"{"type":"error","message":"died"}"#] {
        let reading = stream("openai-responses", &[&text, error]);
        assert_eq!(reading.outcome, Outcome::ServerError);
        assert_eq!(reading.detail.as_deref(), Some("died"));
    }
    assert_eq!(stream("openai-responses", &[&text]).outcome, Outcome::Truncated);

    let body = r#"{"status":"completed","error":null,"output":[
        {"type":"reasoning","content":[{"type":"reasoning_text","text":"hm"}]},
        {"type":"message","content":[{"type":"output_text","text":"a"}]},
        {"type":"function_call","arguments":"{}"}],"usage":{"input_tokens":1,"output_tokens":6}}"#;
    let reading = whole("openai-responses", body);
    assert_eq!((reading.outcome, &*reading.kinds), (Outcome::Complete, "GTCFU"));
    assert_eq!(reading.sizes.iter().filter_map(|size| size.1).collect::<Vec<_>>(), [6, 0, 0]);
}

#[test]
fn tgi_time_headers_that_are_not_whole_milliseconds_are_ignored() {
    let body =
        r#"{"generated_text":"a","details":{"finish_reason":"length","generated_tokens":1}}"#;
    let times = |queue: &str, inference: &str| {
        let length = body.len().to_string();
        let headers = [
            ("Content-Type", "application/json"),
            ("Content-Length", &length),
            ("x-compute-type", "cpu"),
            ("x-queue-time", queue),
            ("X-Inference-Time", inference),
        ];
        let bytes = [&response_head(200, &headers)[..], body.as_bytes()].concat();
        let reading = read("tgi", false, [&bytes[..]]);
        assert_eq!((reading.outcome, &*reading.text), (Outcome::Complete, "a"), "{queue}");
        reading.server_times
    };
    let of = |queue: Option<u32>, inference_us| {
        let times = ServerTimes::default().with(ServerTime::Queue, queue);
        times.with(ServerTime::Inference, Some(inference_us))
    };
    assert_eq!(times("12", " 340 "), of(Some(12_000), 340_000));
    for odd in ["", "-1", "1.5", "12 ms", "4294967296", "NaN"] {
        assert_eq!(times(odd, "7"), of(None, 7_000), "{odd}");
    }
}

#[test]
fn vllm_native_streams_repeat_prompt_and_text_and_only_new_text_is_an_event() {
    let message = |text: &str| format!(r#"{{"text": ["{text}"]}}"#);
    let all = |texts: &[&str], end: &str| -> Vec<String> {
        texts.iter().map(|text| message(text) + end).collect()
    };
    let three = &["Say 1: a", "Say 1: a", "Say 1: a bc"];
    let cases: &[(&str, Vec<String>, &str, &str, Outcome)] = &[
        ("NUL", all(three, "\0"), "TeT", "a bc", Outcome::Complete),
        ("LF", all(three, "\n"), "TeT", "a bc", Outcome::Complete),
        ("CR LF and empty lines", all(three, "\r\n\r\n"), "TeT", "a bc", Outcome::Complete),
        (
            "no last end",
            vec![message("Say 1: ab") + "\n", message("Say 1: abc")],
            "TT",
            "abc",
            Outcome::Complete,
        ),
        ("cut", vec![message("Say 1: a") + "\0", "{\"te".into()], "T", "a", Outcome::Truncated),
        ("other prompt", all(&["Say 2: a"], "\0"), "", "", Outcome::Malformed),
        ("shorter", all(&["Say 1: ab", "Say 1: a"], "\0"), "T", "ab", Outcome::Malformed),
        ("no text", vec!["{}\0".into()], "c", "", Outcome::Truncated),
        ("an error", vec!["{\"error\":\"died\"}\0".into()], "X", "", Outcome::ServerError),
        ("nothing", vec![], "", "", Outcome::Truncated),
    ];
    for (name, messages, kinds, text, outcome) in cases {
        let mut bytes = streamed("text/plain", messages);
        let reading = read("vllm", true, [&bytes[..]]);
        assert_eq!((&*reading.kinds, &*reading.text), (*kinds, *text), "{name}");
        assert_eq!(reading.outcome, *outcome, "{name}: {:?}", reading.detail);
        assert_eq!(read("vllm", true, bytes.chunks(1)), reading, "{name} byte by byte");
        bytes.truncate(bytes.len() - 5);
        let reading = read("vllm", true, [&bytes[..]]);
        assert_ne!(
            reading.outcome,
            Outcome::Complete,
            "{name}: a stream without the end of its HTTP body is not complete"
        );
    }
}

#[test]
fn a_non_streamed_vllm_native_response_is_one_text_event() {
    let cases = [
        (r#"{"text": ["Say 1: a bc"]}"#, "T", "a bc", Outcome::Complete),
        (r#"{"text": ["Say 1: "]}"#, "", "", Outcome::Complete),
        (r#"{"text": ["a bc"]}"#, "", "", Outcome::Malformed),
        (r#"{"text": []}"#, "", "", Outcome::Malformed),
        (r#"{"object": "error", "message": "died"}"#, "X", "", Outcome::ServerError),
    ];
    for (body, kinds, text, outcome) in cases {
        let reading = whole("vllm", body);
        assert_eq!((&*reading.kinds, &*reading.text), (kinds, text), "{body}");
        assert_eq!(reading.outcome, outcome, "{body}");
    }
}

#[test]
fn each_tgi_event_is_one_token_and_the_last_one_contains_the_finish_reason() {
    let token = |text: &str, special: bool, more: &str| {
        format!(r#"{{"token":{{"id":1,"text":"{text}","special":{special}}}{more}}}"#)
    };
    let (a, half) = (token("a", false, ""), token("", false, ""));
    let details = r#"{"finish_reason":"eos_token","generated_tokens":3,"input_length":7}"#;
    let end = token("</s>", true, &format!(r#","generated_text":"a","details":{details}"#));
    let error = r#"{"error":"Model is overloaded","error_type":"overloaded"}"#;
    let cases: &[(&str, &[&str], &str, Outcome)] = &[
        ("usual", &[&a, &half, &end], "TeeFU", Outcome::Complete),
        ("no end", &[&a, &half], "Te", Outcome::Truncated),
        ("an error", &[&a, error], "TX", Outcome::ServerError),
        ("no token", &["{}"], "c", Outcome::Truncated),
        ("after the end", &[&end, &a], "eFU", Outcome::Malformed),
    ];
    for (name, data, kinds, outcome) in cases {
        let reading = stream("tgi", data);
        assert_eq!((&*reading.kinds, reading.outcome), (*kinds, *outcome), "{name}");
    }
    let reading = stream("tgi", &[&a, &half, &end]);
    assert_eq!(reading.text, "a", "the text of a special token is not output");
    assert_eq!(reading.finish.as_deref(), Some("eos_token"));
    let wanted = Usage { prompt: Some(7), completion: Some(3), cached: None, ..Usage::default() };
    assert_eq!(reading.usage, wanted);
    assert!(reading.sizes[..3].iter().all(|size| size.1 == Some(1)));
}
