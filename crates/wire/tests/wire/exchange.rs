//! Tests of the reader of responses: outcomes, error messages, reuse of the connection, the read of an event,
//! secrets.

use inferometer_model::outcome::{Outcome, Phase};
use inferometer_model::request::Prompt;
use inferometer_model::secrets::Secrets;
use inferometer_wire::dialect::{dialect, dialects};
use inferometer_wire::error_message;
use inferometer_wire::exchange::{Progress, ResponseReader};
use inferometer_wire::http::response_head;

use crate::support::{PROMPT, read, response, sse};

const COMPLETIONS: &str = "openai-completions";
const WHOLE: &str =
    r#"{"choices":[{"text":"a","finish_reason":"stop"}],"usage":{"completion_tokens":1}}"#;

/// A response whose body ends with the connection.
fn until_close(media_type: &str, body: &str) -> Vec<u8> {
    let mut bytes = response_head(200, &[("Content-Type", media_type)]);
    bytes.extend_from_slice(body.as_bytes());
    bytes
}

#[test]
fn every_response_has_its_outcome_and_only_a_complete_one_has_no_error_message() {
    let json = "application/json";
    let events = "text/event-stream";
    let message = |text: &str| format!("data: {text}\n\n");
    let good = message(WHOLE);
    let html = "<!doctype html><title>nginx</title>";
    let cut = response(200, json, WHOLE);
    let cut = cut[..cut.len() - 1].to_vec();
    let gzip =
        [response_head(200, &[("Content-Encoding", "gzip"), ("Content-Length", "1")]), vec![31]];
    let late = [response(200, json, WHOLE), b"x".to_vec()].concat();
    let bad_chunk = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n".to_vec();
    let two_lengths =
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab".to_vec();
    let refused = Outcome::Connection { phase: Phase::Headers };
    let rejected = |status| Outcome::Rejected { status };
    let cases: Vec<(&str, bool, Vec<u8>, Outcome, &str)> = vec![
        ("nothing", true, vec![], refused, "closed before any answer"),
        ("half a head", true, b"HTTP/1.1 200".to_vec(), Outcome::Truncated, "inside the HTTP head"),
        ("no HTTP", true, b"SSH-2.0-OpenSSH\r\n".to_vec(), Outcome::Malformed, "SSH-2.0"),
        ("an upgrade", true, response_head(101, &[]), Outcome::Malformed, "status 101"),
        ("HTML", true, response(200, "text/html", html), Outcome::Malformed, "<!doctype"),
        ("HTML, whole", false, response(200, "text/html", html), Outcome::Malformed, "text/html"),
        ("a body, not a stream", true, response(200, json, WHOLE), Outcome::Malformed, json),
        (
            "an error, not a stream",
            true,
            response(200, json, r#"{"error":"x"}"#),
            Outcome::ServerError,
            "x",
        ),
        (
            "an error without a wrapper, not a stream",
            true,
            response(200, json, r#"{"message":"died","type":"internal","code":500}"#),
            Outcome::ServerError,
            "died",
        ),
        ("a stream, not a body", false, sse(&[WHOLE]), Outcome::Malformed, events),
        ("compressed", false, gzip.concat(), Outcome::Malformed, "content-encoding \"gzip\""),
        (
            "no JSON",
            false,
            response(200, json, "ok"),
            Outcome::Malformed,
            "message 1: expected value",
        ),
        ("no body", false, response(200, json, ""), Outcome::Malformed, "EOF while parsing"),
        (
            "an error body",
            false,
            response(200, json, r#"{"error":"x"}"#),
            Outcome::ServerError,
            "x",
        ),
        (
            "no choices",
            false,
            response(200, json, r#"{"choices":[]}"#),
            Outcome::Malformed,
            "no choices",
        ),
        ("a body that is cut", false, cut, Outcome::Truncated, "inside the HTTP body"),
        ("bytes after the end", false, late, Outcome::Malformed, "1 bytes after the end"),
        ("bad chunks", true, bad_chunk, Outcome::Malformed, "a chunk size was expected, at byte 0"),
        (
            "two lengths",
            true,
            two_lengths,
            Outcome::Malformed,
            "content-length \"1, 2\": two lengths",
        ),
        ("no content", true, response_head(204, &[]), Outcome::Truncated, "after 0 messages"),
        ("a redirect", true, response(302, "text/html", ""), rejected(302), "status 302 without"),
        ("an error status", true, response(500, "text/plain", " Oops \n"), rejected(500), "Oops"),
        (
            "a rejection that is cut",
            true,
            b"HTTP/1.1 429 \r\nContent-Length: 9\r\n\r\nbusy".to_vec(),
            rejected(429),
            "busy",
        ),
        (
            "cut in a message",
            true,
            until_close(events, &format!("{good}data: {{")),
            Outcome::Truncated,
            "inside message 2",
        ),
        ("until close", true, until_close(events, &good), Outcome::Complete, ""),
        ("no media type", true, until_close("", &good), Outcome::Complete, ""),
        ("a stream as plain text", true, response(200, "text/plain", &good), Outcome::Complete, ""),
        ("a stream as JSON", true, response(200, json, &good), Outcome::Complete, ""),
        (
            "a stream as JSON after a comment and a mark of its encoding",
            true,
            response(200, json, &format!("\u{feff}: hi\n\n{good}")),
            Outcome::Complete,
            "",
        ),
        (
            "white space",
            true,
            response(200, "text/plain", &" ".repeat(9_000)),
            Outcome::Malformed,
            "text/plain",
        ),
        ("plain text", true, response(200, "text/plain", "data"), Outcome::Malformed, "text/plain"),
        (
            "a body where a stream was asked",
            true,
            response(200, json, WHOLE),
            Outcome::Malformed,
            "--no-stream",
        ),
        ("a whole body", false, response(200, json, WHOLE), Outcome::Complete, ""),
        (
            "after a 100",
            false,
            [b"HTTP/1.1 100 Continue\r\n\r\n".to_vec(), response(200, json, WHOLE)].concat(),
            Outcome::Complete,
            "",
        ),
    ];
    for (name, stream, bytes, outcome, words) in cases {
        let reading = read(COMPLETIONS, stream, [&bytes[..]]);
        let detail = reading.detail.clone().unwrap_or_default();
        assert_eq!(reading.outcome, outcome, "{name}: {detail}");
        assert!(detail.contains(words), "{name}: {detail}");
        assert_eq!(detail.is_empty(), outcome == Outcome::Complete, "{name}: {detail}");
        let in_pieces = read(COMPLETIONS, stream, bytes.chunks(1));
        assert_eq!(in_pieces.outcome, outcome, "{name} byte by byte");
        assert_eq!((in_pieces.kinds, in_pieces.keep_alive), (reading.kinds, reading.keep_alive));
    }
}

#[test]
fn a_prompt_of_no_tokens_is_a_count_that_the_server_does_not_have() {
    for (stated, expected) in [(0, None), (7, Some(7))] {
        let usage = format!(r#"{{"prompt_tokens":{stated},"completion_tokens":1}}"#);
        let body = WHOLE.replace(r#"{"completion_tokens":1}"#, &usage);
        let reading = read(COMPLETIONS, true, [&sse(&[&body])[..]]);
        assert_eq!((reading.usage.prompt, reading.usage.completion), (expected, Some(1)));
    }
}

#[test]
fn a_connection_is_reusable_only_if_the_message_is_complete_and_keep_alive_is_allowed() {
    let close = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}".to_vec();
    let old = b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}".to_vec();
    let kept = b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\n{}".to_vec();
    let cut = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}".to_vec();
    let mut wrong = sse(&["nonsense"]);
    wrong.extend_from_slice(b"more");
    let cases = [
        ("usual", response(200, "application/json", WHOLE), true),
        ("an error", response(503, "text/plain", "busy"), true),
        ("asked to close", close, false),
        ("HTTP/1.0", old, false),
        ("HTTP/1.0, kept", kept, true),
        ("until close", until_close("application/json", WHOLE), false),
        ("cut", cut, false),
        ("bytes after the end", wrong, false),
    ];
    for (name, bytes, keep_alive) in cases {
        assert_eq!(read(COMPLETIONS, false, [&bytes[..]]).keep_alive, keep_alive, "{name}");
    }
}

#[test]
fn events_belong_to_the_read_that_completed_them() {
    let bytes = sse(&[
        r#"{"choices":[{"text":"a"}]}"#,
        r#"{"choices":[{"text":"b","finish_reason":"stop"}]}"#,
        "[DONE]",
    ]);
    let text = String::from_utf8(bytes.clone()).expect("text");
    let at = |what: &str| text.find(what).expect("a part of the response") + what.len();
    // The second read ends one byte before the end of the first message: the LF of its empty line is missing.
    let cuts = [0, at("\r\n\r\n"), at("\"a\"}]}\n"), at("\"stop\"}]}\n\n"), bytes.len()];
    let completions = dialect(COMPLETIONS).expect("a dialect");
    let prompt = Prompt::Text(PROMPT.to_owned());
    let mut reader = ResponseReader::new(completions, &prompt, true, false);
    assert_eq!(reader.progress(), Progress::InHead);
    let progress: Vec<Progress> = (0..4)
        .map(|index| reader.feed(10 + index as u32, &bytes[cuts[index]..cuts[index + 1]]))
        .collect();
    assert_eq!(progress, [Progress::InBody, Progress::InBody, Progress::InBody, Progress::Ended]);
    let reads: Vec<u32> = reader.parsed().events.iter().map(|event| event.read).collect();
    assert_eq!(reads, [12, 12, 12, 13]);
    assert_eq!(reader.parsed().text, None, "the text was not requested");
    assert_eq!(reader.verdict(), (Outcome::Complete, None));
    assert!(reader.keep_alive(), "the reader does not wait for the connection's end");
}

#[test]
fn the_message_of_an_error_body_is_found_in_every_known_format() {
    let cases = [
        (r#"{"error":{"message":"m","code":503}}"#, "m"),
        (r#"{"error":{"code":"400","message":"m"}}"#, "m"),
        (r#"{"error":"m","error_type":"overloaded"}"#, "m"),
        (r#"{"object":"error","message":"m","code":40001}"#, "m"),
        (r#"{"message":"m","type":"not_found","code":404}"#, "m"),
        (r#"{"detail":"m"}"#, "m"),
        (r#"{"detail":[{"loc":["body","a",9],"msg":"m"},{"msg":"n"}]}"#, "a.9: m; n"),
        (r#"{"detail":[{"loc":["body"],"msg":"m"}]}"#, "m"),
        (r#"{"error":{"message":"no field a","param":"a"}}"#, "no field a"),
        (r#"{"error":{"message":"m","param":"a"}}"#, "a: m"),
        (r#"{"error":{"message":"m","param":null}}"#, "m"),
        (r#"{"error":{"message":null},"detail":"m"}"#, "m"),
        (r#"{"other":1}"#, r#"{"other":1}"#),
        ("  Internal Server Error\n", "Internal Server Error"),
        ("", "HTTP status 418 without a message"),
        (r#"{"error":""}"#, "HTTP status 418 without a message"),
    ];
    for (body, message) in cases {
        assert_eq!(error_message(418, body.as_bytes(), &Secrets::default()), message, "{body}");
    }
    let long = error_message(500, "x".repeat(10_000).as_bytes(), &Secrets::default());
    assert!(long.chars().count() <= 501);
}

#[test]
fn no_dialect_stores_an_api_key_that_the_server_echoes_not_even_its_first_characters() {
    const KEY: &str = "sk-very-secret-7f3a9c";
    let header = ("authorization".to_owned(), format!("Bearer {KEY}"));
    let secrets = Secrets::of_headers(&[header]);
    let dots = |count: usize| ".".repeat(count);
    let answers = [
        ("500", format!("{}{KEY}", dots(490))),
        ("401", format!(r#"{{"error":{{"message":"{}{KEY}"}}}}"#, dots(490))),
        ("200", format!(r#"{{"error":"{}{KEY}"}}"#, dots(490))),
        ("200", format!("{}{KEY}", dots(70))),
        ("200", format!("data: {}{KEY}\n\n", dots(70))),
        ("200", format!("data: {{\"error\":\"{}{KEY}\"}}\n\n", dots(490))),
        ("200", format!("event: error\ndata: {{\"type\":\"error\",\"message\":\"{KEY}\"}}\n\n")),
        (
            "200",
            format!(r#"{{"text":"{KEY}","choices":"{KEY}","type":"{KEY}","stop_type":"{KEY}"}}"#),
        ),
    ];
    for dialect in dialects() {
        for stream in [true, false] {
            for (status, body) in &answers {
                let kind = if body.contains("data:") { "text/event-stream" } else { "text/html" };
                let bytes = format!(
                    "HTTP/1.1 {status} {KEY}\r\ncontent-type: {kind}\r\nx-{KEY}: {KEY}\r\n\r\n{body}"
                );
                let prompt = Prompt::Text("p".to_owned());
                let mut reader = ResponseReader::new(dialect, &prompt, stream, false)
                    .with_secrets(secrets.clone());
                reader.feed(0, bytes.as_bytes());
                reader.eof();
                let (outcome, words) = reader.verdict();
                let parsed = reader.into_parsed();
                let kept = format!("{words:?} {:?}", parsed.finish_reason);
                assert!(!outcome.is_complete() && words.is_some(), "{}: {body}", dialect.name);
                assert!(!kept.contains(&KEY[..8]), "{}: {kept}", dialect.name);
            }
        }
    }
}
