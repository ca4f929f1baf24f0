//! Tests of messages that servers may send and that the recorded responses do not contain.
//!
//! A text such as `TTFUD` has one letter for each event ([`Reading::kinds`]):
//! - T: text; e: empty text; R: a role; G: reasoning; C: a tool call
//! - F: a finish reason; U: usage; D: the end mark; X: an error; c: a comment

use inferometer_model::outcome::Outcome;
use inferometer_model::record::Usage;

use crate::support::{Reading, read, response, sse, streamed};

const COMPLETIONS: &str = "openai-completions";
const CHAT: &str = "openai-chat";

const FINISH: &str = r#"{"choices":[{"text":"","finish_reason":"stop"}]}"#;
const CHAT_FINISH: &str = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
const DONE: &str = "[DONE]";

fn text(text: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,"text":"{text}","finish_reason":null}}]}}"#)
}

fn delta(fields: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,"delta":{{{fields}}}}}]}}"#)
}

fn usage(completion: u32) -> String {
    format!(r#"{{"choices":[],"usage":{{"prompt_tokens":3,"completion_tokens":{completion}}}}}"#)
}

fn read_sse(dialect: &str, data: &[&str]) -> Reading {
    read(dialect, true, [&sse(data)[..]])
}

#[test]
fn the_messages_of_a_completion_stream_determine_its_events_and_outcome() {
    let (a, b, empty, zero, five) = (text("a"), text("b"), text(""), usage(0), usage(5));
    let two = r#"{"choices":[{"text":"a"},{"text":"b","index":1}]}"#;
    let other = r#"{"choices":[{"text":"","delta":{"content":"a"}}]}"#;
    let second = r#"{"choices":[{"text":"","index":1,"finish_reason":"stop"}]}"#;
    let length = r#"{"choices":[{"text":"","finish_reason":"length"}]}"#;
    let error = r#"{"error": {"message": "died", "code": "500"}}"#;
    let with = |completion: u32| {
        format!(r#"{{"choices":[{{"text":"a"}}],"usage":{{"completion_tokens":{completion}}}}}"#)
    };
    let (first, both) = (with(1), with(2));
    let null_error = r#"{"error":null,"choices":[{"text":"a"}],"usage":null}"#;
    let sglang = r#"{"object":"error","message":"died","code":500}"#;
    let bare = r#"{"message":"died","type":"internal","code":500}"#;
    let abort = r#"{"choices":[{"text":"","finish_reason":"Abort"}]}"#;
    let unknown = r#"{"choices":[{"text":"","finish_reason":"tea_time"}]}"#;
    let filtered = r#"{"choices":[{"text":"","finish_reason":"content_filter"}]}"#;
    let cases: &[(&str, &[&str], &str, Outcome)] = &[
        ("usual", &[&a, &b, FINISH, &five, DONE], "TTFUD", Outcome::Complete),
        ("half characters", &[&empty, &a, &empty, FINISH, DONE], "eTeFD", Outcome::Complete),
        ("no end mark", &[&a, FINISH], "TF", Outcome::Complete),
        ("no finish reason", &[&a, DONE], "TD", Outcome::Complete),
        ("only text", &[&a], "T", Outcome::Truncated),
        ("nothing", &[], "", Outcome::Truncated),
        ("only the end mark", &[DONE], "D", Outcome::Malformed),
        ("an error and an end", &[&a, error, DONE], "TXD", Outcome::ServerError),
        ("an error before a good end", &[&a, error, FINISH, DONE], "TXFD", Outcome::ServerError),
        ("an error in SGLang's form", &[&a, sglang], "TX", Outcome::ServerError),
        ("an error without a wrapper", &[&a, bare], "TX", Outcome::ServerError),
        ("aborted", &[&a, abort, DONE], "TFD", Outcome::ServerError),
        ("an unknown finish reason", &[&a, unknown, DONE], "TFD", Outcome::Complete),
        ("filtered", &[&a, filtered, DONE], "TFD", Outcome::Complete),
        ("an error after nonsense", &["{", error], "X", Outcome::ServerError),
        ("no error", &[null_error, FINISH, DONE], "TFD", Outcome::Complete),
        ("no output, not counted", &[FINISH, DONE], "FD", Outcome::Complete),
        ("no output, counted zero", &[FINISH, &zero, DONE], "FUD", Outcome::Complete),
        ("no output, counted five", &[FINISH, &five, DONE], "FUD", Outcome::Complete),
        ("no JSON", &[&a, "{\"choices\":[", FINISH, DONE], "TFD", Outcome::Malformed),
        ("two answers", &[two, FINISH, second, DONE], "TTFFD", Outcome::Complete),
        ("one of two ends", &[two, FINISH], "TTF", Outcome::Truncated),
        ("one of two ends twice", &[two, FINISH, FINISH], "TTFF", Outcome::Truncated),
        ("a second begins after the first", &[&a, FINISH, two], "TFTT", Outcome::Truncated),
        ("a field of another API", &[other, FINISH], "F", Outcome::Malformed),
        ("another API", &[&delta(r#""content":"a""#), FINISH], "F", Outcome::Malformed),
        ("something else", &["{\"ping\":1}", &a, FINISH], "cTF", Outcome::Complete),
        ("after the end mark", &[&a, FINISH, DONE, &a], "TFD", Outcome::Malformed),
        ("usage after the end mark", &[&a, FINISH, DONE, &five], "TFDU", Outcome::Complete),
        ("a ping after the end mark", &[&a, FINISH, DONE, "{}"], "TFDc", Outcome::Complete),
        ("two end marks", &[&a, FINISH, DONE, DONE], "TFD", Outcome::Complete),
        ("usage is the last", &[&a, &b, &five], "TTU", Outcome::Complete),
        ("usage before the last output", &[&a, &five, &b], "TUT", Outcome::Truncated),
        ("usage before output", &[&five, &a], "T", Outcome::Truncated),
        ("usage with each output", &[&first, &both, &five], "TUTUU", Outcome::Truncated),
        ("usage after each output", &[&a, &five, &b, &five], "TUTU", Outcome::Truncated),
        ("only usage", &[&five], "", Outcome::Truncated),
        ("a last token without text", &[&a, length, DONE], "TeFD", Outcome::Complete),
        ("the same, counted", &[&a, length, &five, DONE], "TFUD", Outcome::Complete),
    ];
    for (name, data, kinds, outcome) in cases {
        let reading = read_sse(COMPLETIONS, data);
        assert_eq!((&*reading.kinds, reading.outcome), (*kinds, *outcome), "{name}");
        assert!(reading.keep_alive, "{name}");
    }
}

#[test]
fn a_malformed_message_is_reported_with_its_number_and_its_text() {
    let reading = read_sse(COMPLETIONS, &[&text("a"), "{\"choices\":[", "nonsense"]);
    let detail = reading.detail.expect("a message");
    assert!(detail.starts_with("message 2: EOF while parsing"), "{detail}");
    assert!(detail.ends_with(r#"in "{\"choices\":[""#), "{detail}");
}

#[test]
fn the_messages_of_a_chat_stream_determine_its_events_and_outcome() {
    let role = delta(r#""role":"assistant""#);
    let role_empty = delta(r#""role":"assistant","content":"""#);
    let role_null = delta(r#""role":"assistant","content":null"#);
    let (a, empty, nothing) = (delta(r#""content":"a""#), delta(r#""content":"""#), delta(""));
    let think = delta(r#""reasoning_content":"hm","content":null"#);
    let think_both = delta(r#""reasoning_content":"hm","reasoning":"hm","content":"""#);
    let think_new = delta(r#""reasoning":"hm""#);
    let both = delta(r#""reasoning":"hm","content":"a""#);
    let call = delta(r#""tool_calls":[{"index":0,"function":{"name":"f","arguments":"{\"x\""}}]"#);
    let gateway = r#"{"choices":[{"delta":{"role":"assistant","content":""}}],"usage":{"completion_tokens":1}}"#;
    let mistral = delta(
        r#""content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"a"}]"#,
    );
    let details = delta(r#""reasoning_details":[{"type":"reasoning.text","text":"hm"}]"#);
    let encrypted = delta(r#""reasoning_details":[{"type":"reasoning.encrypted","data":"x"}]"#);
    let thinking = delta(r#""thinking":"hm","content":"""#);
    let thinking_on = delta(r#""thinking":true,"content":"a""#);
    let refusal = delta(r#""content":null,"refusal":"a""#);
    let old_call = delta(r#""function_call":{"name":"f","arguments":"{}"}"#);
    let think_second = delta(r#""reasoning_content":"","reasoning":"hm""#);
    let message = r#"{"choices":[{"message":{"content":"a"}}]}"#;
    let other = r#"{"choices":[{"text":"a","delta":{}}]}"#;
    let litellm = r#"{"choices":[{"index":0,"delta":{}}],"usage":{"completion_tokens":1}}"#;
    let cases: &[(&str, &[&str], &str, Outcome)] = &[
        ("role only", &[&role, &a, CHAT_FINISH, DONE], "RTFD", Outcome::Complete),
        ("empty role", &[&role_empty, &a, CHAT_FINISH], "RTF", Outcome::Complete),
        ("null role", &[&role_null, &a, CHAT_FINISH], "RTF", Outcome::Complete),
        ("role always", &[&role_empty, &role_empty, &a, CHAT_FINISH], "ReTF", Outcome::Complete),
        ("empty first", &[&empty, &a, &empty, CHAT_FINISH], "TeF", Outcome::Complete),
        ("nothing first", &[&nothing, &a, CHAT_FINISH], "cTF", Outcome::Complete),
        ("role, no output", &[&role_empty, CHAT_FINISH, DONE], "RFD", Outcome::Complete),
        ("reasoning", &[&role, &think, &think, &a, CHAT_FINISH], "RGGTF", Outcome::Complete),
        ("both names", &[&role, &think_both, &a, CHAT_FINISH], "RGTF", Outcome::Complete),
        ("the new name", &[&role, &think_new, &a, CHAT_FINISH], "RGTF", Outcome::Complete),
        ("reasoning and text", &[&role, &both, CHAT_FINISH], "RGTF", Outcome::Complete),
        ("a tool call", &[&role, &call, CHAT_FINISH], "RCF", Outcome::Complete),
        ("LiteLLM's usage", &[&a, CHAT_FINISH, litellm, DONE], "TFUD", Outcome::Complete),
        ("usage with the role", &[gateway, &a, CHAT_FINISH], "RTF", Outcome::Complete),
        ("Mistral's parts", &[&role, &mistral, &a, CHAT_FINISH], "RGTTF", Outcome::Complete),
        ("only details", &[&role, &details, &a, CHAT_FINISH], "RGTF", Outcome::Complete),
        ("Ollama's name", &[&role, &thinking, &a, CHAT_FINISH], "RGTF", Outcome::Complete),
        ("a switch", &[&role, &thinking_on, &a, CHAT_FINISH], "RTTF", Outcome::Complete),
        ("hidden details", &[&role, &encrypted, &a, CHAT_FINISH], "RcTF", Outcome::Complete),
        ("a refusal", &[&role, &refusal, CHAT_FINISH], "RTF", Outcome::Complete),
        ("an old tool call", &[&role, &old_call, CHAT_FINISH], "RCF", Outcome::Complete),
        ("an empty first name", &[&think_second, &a, CHAT_FINISH], "GTF", Outcome::Complete),
        ("a message, no delta", &[message, CHAT_FINISH], "F", Outcome::Malformed),
        ("another API", &[&text("a"), CHAT_FINISH], "F", Outcome::Malformed),
        ("a field of another API", &[other, CHAT_FINISH], "F", Outcome::Malformed),
    ];
    for (name, data, kinds, outcome) in cases {
        let reading = read_sse(CHAT, data);
        assert_eq!((&*reading.kinds, reading.outcome), (*kinds, *outcome), "{name}");
        let thinks = kinds.matches('G').count();
        assert_eq!(reading.reasoning, "hm".repeat(thinks), "{name}");
        assert_eq!(reading.text, "a".repeat(kinds.matches('T').count()), "{name}");
    }
    let reading = read_sse(CHAT, &[&call, CHAT_FINISH]);
    assert_eq!(reading.sizes[0], (4, None), "the characters of the arguments");
}

#[test]
fn continuous_usage_gives_the_number_of_tokens_of_each_event() {
    let with = |text: &str, completion: u32| {
        format!(
            r#"{{"choices":[{{"text":"{text}"}}],"usage":{{"completion_tokens":{completion}}}}}"#
        )
    };
    let (three, eight, still) = (with("abc", 3), with("", 8), with("", 8));
    let reading = read_sse(COMPLETIONS, &[&three, &eight, &still, FINISH, &usage(8), DONE]);
    assert_eq!(reading.kinds, "TUeUUFUD", "an empty text that adds 0 tokens is not an event");
    assert_eq!(reading.sizes[0], (3, Some(3)));
    assert_eq!(reading.sizes[2], (0, Some(5)));
    let wanted = Usage { prompt: Some(3), completion: Some(8), cached: None, ..Usage::default() };
    assert_eq!(reading.usage, wanted);

    let one = with("a", 1);
    let reading = read_sse(COMPLETIONS, &[&one, &one, &one, FINISH]);
    let each: Vec<_> = reading.sizes.iter().filter_map(|size| size.1).collect();
    assert_eq!((reading.usage.completion, each), (Some(3), vec![1; 3]), "each counts its own");
    let reading = read_sse(COMPLETIONS, &[&one, &one, FINISH, &usage(2), DONE]);
    assert_eq!(reading.usage.completion, Some(2), "the last one counts all");

    let two = with("a", 2);
    for (data, completion, wanted) in [
        (&[&one, &one, &two, &three][..], 3, &[1, 0, 1, 1][..]),
        (&[&two, &two, &one], 5, &[2, 2, 1]),
        (&[&three, &three, &usage(3)], 3, &[3, 3]),
    ] {
        let data: Vec<&str> = data.iter().map(|data| &***data).collect();
        let reading = read_sse(COMPLETIONS, &data);
        let each: Vec<_> = reading.sizes.iter().filter_map(|size| size.1).collect();
        assert_eq!((reading.usage.completion, &*each), (Some(completion), wanted), "{data:?}");
    }

    let chat = |fields: &str, completion: u32| {
        let usage = format!(r#","usage":{{"completion_tokens":{completion}}}}}"#);
        delta(fields).strip_suffix('}').expect("an object").to_owned() + &usage
    };
    let hidden =
        [chat("", 1), chat("", 2), chat(r#""content":"a""#, 3), chat(r#""content":"b""#, 4)];
    let reading = read_sse(CHAT, &hidden.each_ref().map(|data| &**data));
    let each: Vec<_> = reading.sizes.iter().filter_map(|size| size.1).collect();
    assert_eq!(each, [3, 1], "the next output has the tokens of messages without output");

    let reading = read_sse(COMPLETIONS, &[&text("a"), &three, FINISH]);
    assert_eq!(reading.sizes[1], (3, None), "the first usage covers more than this event");
}

#[test]
fn a_stream_with_more_than_1024_answers_is_malformed() {
    let choice = |index: u32| format!(r#"{{"choices":[{{"index":{index},"text":"a"}}]}}"#);
    for (answers, outcome) in [(1_024, Outcome::Complete), (1_025, Outcome::Malformed)] {
        let data: Vec<String> = (0..answers).map(choice).chain([DONE.to_owned()]).collect();
        let data: Vec<&str> = data.iter().map(|data| &**data).collect();
        assert_eq!(read_sse(COMPLETIONS, &data).outcome, outcome, "{answers}");
    }
}

#[test]
fn token_ids_give_the_number_of_tokens_of_each_event() {
    let ids = r#"{"choices":[{"text":"ab","token_ids":[1,2,3]}]}"#;
    let none = r#"{"choices":[{"text":"","token_ids":[]}]}"#;
    let reading = read_sse(COMPLETIONS, &[ids, none, FINISH]);
    assert_eq!((&*reading.kinds, reading.sizes[0]), ("TF", (2, Some(3))));
}

#[test]
fn the_tokens_of_a_message_with_several_events_are_counted_once() {
    let both = r#"{"choices":[{"delta":{"reasoning":"hm","content":"a"},"token_ids":[1,2]}]}"#;
    let reading = read_sse(CHAT, &[both, CHAT_FINISH]);
    assert_eq!(reading.sizes, [(2, Some(2)), (1, Some(0)), (0, None)]);
}

#[test]
fn non_streamed_chats_give_events_for_reasoning_text_tool_calls_and_empty_output() {
    let usage = r#""usage":{"completion_tokens":4}"#;
    let whole = |message: &str| format!(r#"{{"choices":[{{"message":{{{message}}}}}],{usage}}}"#);
    let call = r#""content":null,"tool_calls":[{"function":{"arguments":"{}"}}]"#;
    let two = r#"{"choices":[{"message":{"content":"a"}},{"message":{"content":"b"}}],"usage":{"completion_tokens":4}}"#.to_owned();
    let empty = r#"{"choices":[{"message":{"content":""}}]}"#;
    let reading = read(CHAT, false, [&response(200, "application/json", empty)[..]]);
    assert_eq!((&*reading.kinds, reading.outcome), ("", Outcome::Complete));
    let cases = [
        (whole(r#""reasoning_content":"hm","content":"a""#), "GTU", Outcome::Complete),
        (whole(call), "CU", Outcome::Complete),
        (whole(r#""content":"""#), "eU", Outcome::Complete),
        (whole(r#""content":[{"type":"text","text":"a"}]"#), "TU", Outcome::Complete),
        (whole(r#""content":null,"refusal":"a""#), "TU", Outcome::Complete),
        (two, "TTU", Outcome::Complete),
        (r#"{"choices":[{"text":"a"}]}"#.to_owned(), "", Outcome::Malformed),
    ];
    for (body, kinds, outcome) in cases {
        let reading = read(CHAT, false, [&response(200, "application/json", &body)[..]]);
        assert_eq!((&*reading.kinds, reading.outcome), (kinds, outcome), "{body}");
        let tokens: u32 = reading.sizes.iter().filter_map(|size| size.1).sum();
        assert_eq!(tokens, if outcome == Outcome::Complete { 4 } else { 0 }, "{body}");
    }
}

#[test]
fn characters_are_counted_after_unescaping() {
    let reading = read_sse(COMPLETIONS, &[&text(r"\n\u00e9\ud83d\ude00x"), FINISH]);
    assert_eq!((reading.sizes[0].0, &*reading.text), (4, "\né😀x"));
}

#[test]
fn comments_and_error_events_of_a_stream_are_recorded() {
    let mut bytes = streamed(
        "text/event-stream",
        &[
            ":\n\n".into(),
            format!("data:{}\r\n\r\n", text("a")),
            "event: error\ndata: x\n\n".into(),
        ],
    );
    let reading = read(COMPLETIONS, true, [&bytes[..]]);
    assert_eq!((&*reading.kinds, reading.outcome), ("cTX", Outcome::ServerError));
    assert_eq!(reading.detail.as_deref(), Some("x"));
    bytes.truncate(bytes.len() - 5);
    let reading = read(COMPLETIONS, true, [&bytes[..]]);
    assert_eq!(
        reading.outcome,
        Outcome::ServerError,
        "the error is recorded although the stream is cut"
    );
}

#[test]
fn prompt_tokens_of_media_are_those_that_vllm_and_sglang_state_and_absent_otherwise() {
    for (details, image, audio) in [
        (r#"{"multimodal_tokens":{"image":324}}"#, Some(324), None),
        (r#"{"multimodal_tokens":{"image":2,"audio":25},"cached_tokens":3}"#, Some(2), Some(25)),
        (r#"{"image_tokens":256,"audio_tokens":0}"#, Some(256), Some(0)),
        (r#"{"cached_tokens":0}"#, None, None),
        ("null", None, None),
    ] {
        let choice = r#"{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}"#;
        let usage = format!(
            r#"{{"prompt_tokens":400,"completion_tokens":1,"prompt_tokens_details":{details}}}"#
        );
        let data = format!(r#"{{"choices":[{choice}],"usage":{usage}}}"#);
        let reading = read_sse("openai-chat", &[&data, "[DONE]"]);
        assert_eq!((reading.usage.image, reading.usage.audio), (image, audio), "{details}");
        let all = image.map(|image| image + audio.unwrap_or(0));
        assert_eq!((reading.usage.prompt, reading.usage.media()), (Some(400), all), "{details}");
    }
}
