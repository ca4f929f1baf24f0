//! Tests that the template, which avoids the JSON parser, never changes an event. Every stream is read twice.
//! The second time, the white space differs in each message, so that no template matches.

use inferometer_wire::http::{Piece, ResponseParser};
use inferometer_wire::sse::{Decoder, SseItem};
use proptest::prelude::*;

use crate::fixtures::streams;
use crate::support::{read, sse};

/// The messages with additional white space in their JSON; the amount differs in each message.
fn spaced(messages: &[String]) -> Vec<String> {
    let space = |(number, message): (usize, &String)| match message.strip_prefix('{') {
        Some(rest) => format!("{{{}{rest}", " ".repeat(number + 1)),
        None => message.clone(),
    };
    messages.iter().enumerate().map(space).collect()
}

fn check(dialect: &str, messages: &[String]) {
    let read = |messages: &[String]| {
        let data: Vec<&str> = messages.iter().map(String::as_str).collect();
        let mut reading = read(dialect, true, [&sse(&data)[..]]);
        // An error quotes the message, whose white space differs between the two streams.
        let complaint = |detail: String| detail.split(", in ").next().map(str::to_owned);
        reading.detail = reading.detail.and_then(complaint);
        reading
    };
    let (got, parsed) = (read(messages), read(&spaced(messages)));
    assert_eq!(got, parsed, "{dialect} {messages:#?}");
}

/// The messages of a recorded stream.
fn messages(bytes: &[u8]) -> Vec<String> {
    let (mut parser, mut decoder) = (ResponseParser::new(), Decoder::new());
    let mut messages = Vec::new();
    let mut body = Vec::new();
    parser
        .push(bytes, &mut |piece| {
            if let Piece::Body(part) = piece {
                body.extend_from_slice(part);
            }
        })
        .expect("a recorded response");
    decoder
        .push(&body, &mut |item| {
            if let SseItem::Message { data, .. } = item {
                messages.push(data.to_owned());
            }
        })
        .expect("a recorded stream");
    messages
}

#[test]
fn recorded_streams_give_equal_results_with_and_without_the_template() {
    let mut count = 0;
    for (name, dialect, bytes) in streams() {
        let messages = messages(&bytes);
        assert!(!messages.is_empty(), "{name}");
        check(dialect, &messages);
        // Each message is sent twice, so that the second one matches the template.
        let twice: Vec<String> = messages.iter().flat_map(|m| [m.clone(), m.clone()]).collect();
        check(dialect, &twice);
        count += 1;
    }
    assert!(count > 10);
}

/// Texts that are plain, empty or escaped, or that look like JSON themselves.
const TEXTS: [&str; 8] = ["a", " the", "", "h\u{e9}\u{1f44b}", "\\n", "\\\"", "\\u0041", "},{"];

/// Messages in which `@` is replaced by a text.
const COMPLETIONS: [&str; 9] = [
    r#"{"id":"x","choices":[{"index":0,"text":"@","finish_reason":null}]}"#,
    r#"{"id":"x","choices":[{"index":0,"text":"@","finish_reason":""}]}"#,
    r#"{"id":"x","choices":[{"index":0,"text":"@","token_ids":[1,2]}]}"#,
    r#"{"id":"x","choices":[{"index":0,"text":"@","token_ids":[]}]}"#,
    r#"{"id":"@","choices":[{"index":0,"text":"@","finish_reason":null}]}"#,
    r#"{"id":"x","choices":[{"index":0,"text":"@"}],"usage":{"completion_tokens":3}}"#,
    r#"{"id":"x","choices":[{"index":0,"text":"@","finish_reason":"stop"}]}"#,
    r#"{"object":"@","choices":[{"index":0,"text":"b"}]}"#,
    "[DONE]",
];
const CHAT: [&str; 8] = [
    r#"{"choices":[{"delta":{"role":"assistant","content":"@"}}]}"#,
    r#"{"choices":[{"delta":{"content":"@"}}]}"#,
    r#"{"choices":[{"delta":{"content":"@","reasoning":""}}]}"#,
    r#"{"choices":[{"delta":{"reasoning_content":"@"}}]}"#,
    r#"{"choices":[{"delta":{"reasoning":"@","reasoning_content":"@"}}]}"#,
    r#"{"choices":[{"delta":{"reasoning":"@","content":"@"}}]}"#,
    r#"{"choices":[{"delta":{"content":"a","tool_calls":[{"function":{"arguments":"@"}}]}}]}"#,
    r#"{"choices":[{"delta":{"content":"@"},"finish_reason":"stop"}]}"#,
];

fn generated(shapes: &'static [&'static str]) -> impl Strategy<Value = Vec<String>> {
    let message = (prop::sample::select(shapes), prop::sample::select(&TEXTS[..]), 0..3_usize)
        .prop_map(|(shape, text, repeat)| vec![shape.replace('@', text); repeat]);
    prop::collection::vec(message, 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn generated_completions_give_equal_results_with_and_without_the_template(
        messages in generated(&COMPLETIONS),
    ) {
        check("openai-completions", &messages);
    }

    #[test]
    fn generated_chats_give_equal_results_with_and_without_the_template(messages in generated(&CHAT)) {
        check("openai-chat", &messages);
    }
}
