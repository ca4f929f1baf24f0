//! Tests with recorded responses. In each test case, one value of a response is replaced by a value that no
//! server should send. The response must still have an outcome, and its texts must fit into a record.

use crate::support::{fixture, read};
use inferometer_model::finish_reason::MAX_CHARS;
use inferometer_model::record::MAX_DETAIL_CHARS;
use inferometer_wire::http::{Piece, ResponseParser};

const RESPONSES: [(&str, &str, bool); 12] = [
    ("vllm/chat-stream.http", "openai-chat", true),
    ("llama-cpp/completions-stream.http", "openai-completions", true),
    ("llama-cpp/completions-whole.http", "openai-completions", false),
    ("llama-cpp/completion-stream.http", "llama-cpp", true),
    ("llama-cpp/completion-whole.http", "llama-cpp", false),
    ("llama-cpp/messages-stream.http", "anthropic", true),
    ("llama-cpp/messages-whole.http", "anthropic", false),
    ("llama-cpp/responses-stream.http", "openai-responses", true),
    ("llama-cpp/responses-whole.http", "openai-responses", false),
    ("sglang/generate-stream.http", "sglang", true),
    ("tgi/generate-stream.http", "tgi", true),
    ("tgi/generate-whole.http", "tgi", false),
];

/// The positions of the values of fields in JSON texts. Objects and lists are left out.
fn values(text: &str) -> Vec<std::ops::Range<usize>> {
    let bytes = text.as_bytes();
    let string_end = |start: usize| {
        let mut at = start + 1;
        while at < bytes.len() && bytes[at] != b'"' {
            at += if bytes[at] == b'\\' { 2 } else { 1 };
        }
        (at + 1).min(bytes.len())
    };
    let (mut found, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        at = match bytes[at] {
            b'"' => {
                let end = string_end(at);
                let before = text[..at].trim_end();
                if before.ends_with("\":") {
                    found.push(at..end);
                }
                end
            }
            b'0'..=b'9' | b'-' | b't' | b'f' | b'n' if text[..at].trim_end().ends_with("\":") => {
                let length = text[at..].find([',', '}', ']', '\n', '\r']).unwrap_or(1);
                found.push(at..at + length);
                at + length
            }
            _ => at + 1,
        };
    }
    found
}

#[test]
fn responses_with_hostile_json_values_do_not_panic_and_fit_in_a_record() {
    let long = format!("\"{}\"", "\u{e9}".repeat(5_000));
    let deep = "[".repeat(5_000);
    let hostile = [
        "1e400", "-1", "18446744073709551616", "4294967296", "1.5", "null", "\"\\u0000\"",
        "\"\\ud800\"", "{}", "[]", &long, &deep,
    ];
    let mut read_so_far = 0;
    for (name, dialect, stream) in RESPONSES {
        let mut body = Vec::new();
        let mut head = String::new();
        let mut sink = |piece: Piece<'_>| match piece {
            Piece::Head(parsed) => {
                let media_type = parsed.header("content-type").unwrap_or("text/plain");
                head = format!("HTTP/1.1 200 OK\r\ncontent-type: {media_type}\r\n\r\n");
            }
            Piece::Body(bytes) => body.extend_from_slice(bytes),
            Piece::End => {}
        };
        ResponseParser::new().push(&fixture(name), &mut sink).expect("a recorded response");
        let body = String::from_utf8_lossy(&body).into_owned();
        let values = values(&body);
        assert!(values.len() > 5, "{name}");
        // In a long stream, the first and the last messages contain all kinds of values.
        let some = values.iter().take(60).chain(values.iter().skip(60).rev().take(60));
        for (range, instead) in some.flat_map(|range| hostile.map(|instead| (range, instead))) {
            let response = format!("{head}{}{instead}{}", &body[..range.start], &body[range.end..]);
            let reading = read(dialect, stream, [response.as_bytes()]);
            let finish = reading.finish.unwrap_or_default().chars().count();
            let detail = reading.detail.unwrap_or_default().chars().count();
            let place = format!("{name}, {instead:.20} for {}", &body[range.clone()]);
            assert!(finish <= MAX_CHARS && detail <= MAX_DETAIL_CHARS + 1, "{place}");
            read_so_far += 1;
        }
    }
    assert!(read_so_far > 3_000, "{read_so_far}");
}
