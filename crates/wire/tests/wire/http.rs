//! Tests of the HTTP framing of responses and of requests.

use MessageEnd::{Complete, Truncated};
use inferometer_model::secrets::Secrets;
use inferometer_wire::http::{
    HttpError, LAST_CHUNK, MAX_HEAD_BYTES, MessageEnd, Piece, Request, RequestParser,
    ResponseParser, path_segment, request_head, response_head, write_chunk,
};
use proptest::prelude::*;

/// The result of parsing a response: status, body, whether the parser reported the end, how the message
/// ended.
#[derive(Debug, PartialEq)]
struct Parsed {
    status: Option<u16>,
    body: Vec<u8>,
    end: bool,
    ended: MessageEnd,
}

fn parse<'a>(
    mut parser: ResponseParser,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Result<Parsed, HttpError> {
    let (mut status, mut body, mut end) = (None, Vec::new(), false);
    for piece in pieces {
        let range = piece.as_ptr_range();
        parser.push(piece, &mut |part| match part {
            Piece::Head(head) => assert_eq!(status.replace(head.status), None, "one head"),
            Piece::Body(bytes) => {
                assert!(!bytes.is_empty() && !end && status.is_some());
                let inside = bytes.as_ptr_range();
                assert!(range.start <= inside.start && inside.end <= range.end, "copied bytes");
                body.extend_from_slice(bytes);
            }
            Piece::End => assert!(!std::mem::replace(&mut end, true), "one end"),
        })?;
    }
    let ended = parser.finish();
    Ok(Parsed { status, body, end, ended })
}

fn parse_whole(bytes: &[u8]) -> Result<Parsed, HttpError> {
    parse(ResponseParser::new(), [bytes])
}

#[test]
fn bodies_end_where_their_framing_says() {
    let head = "HTTP/1.1 200 OK\r\n";
    let chunked = "Transfer-Encoding: chunked\r\n\r\n";
    let cases: &[(&str, String, &str, bool, MessageEnd)] = &[
        ("length", format!("{head}content-length: 3\r\n\r\nabc"), "abc", true, Complete),
        ("lengths", format!("{head}Content-Length: 3, 3\r\n\r\nabc"), "abc", true, Complete),
        ("zero", format!("{head}Content-Length: 0\r\n\r\n"), "", true, Complete),
        ("short", format!("{head}Content-Length: 4\r\n\r\nabc"), "abc", false, Truncated),
        ("until close", format!("{head}\r\nabc"), "abc", false, Complete),
        ("no head", head.to_owned(), "", false, Truncated),
        ("bare LF", "HTTP/1.1 200 OK\nContent-Length: 1\n\na".into(), "a", true, Complete),
        ("no reason", "HTTP/1.1 200\r\nContent-Length: 1\r\n\r\na".into(), "a", true, Complete),
        ("204", "HTTP/1.1 204 No Content\r\n\r\n".into(), "", true, Complete),
        ("304", "HTTP/1.1 304 \r\nContent-Length: 9\r\n\r\n".into(), "", true, Complete),
        (
            "1xx",
            format!(
                "HTTP/1.1 103 \r\nA: b\r\n\r\nHTTP/1.1 100 \r\n\r\n{head}Content-Length: 1\r\n\r\na"
            ),
            "a",
            true,
            Complete,
        ),
        (
            "chunks",
            format!("{head}{chunked}3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n"),
            "abc0123456789",
            true,
            Complete,
        ),
        (
            "lower case",
            format!("{head}{chunked}a\r\n0123456789\r\n00\r\n\r\n"),
            "0123456789",
            true,
            Complete,
        ),
        (
            "extensions",
            format!("{head}{chunked}3;a=\"b\"\r\nabc\r\n1 ; x\r\nd\r\n0;z\r\n\r\n"),
            "abcd",
            true,
            Complete,
        ),
        ("padding", format!("{head}{chunked}3  \r\nabc\r\n0\r\n\r\n"), "abc", true, Complete),
        (
            "trailers",
            format!("{head}{chunked}1\r\na\r\n0\r\nX: y\r\nZ: 1\r\n\r\n"),
            "a",
            true,
            Complete,
        ),
        (
            "both",
            format!("{head}Content-Length: 9\r\n{chunked}1\r\na\r\n0\r\n\r\n"),
            "a",
            true,
            Complete,
        ),
        (
            "both, in reverse order",
            format!(
                "{head}Transfer-Encoding: chunked\r\nContent-Length: 9\r\n\r\n1\r\na\r\n0\r\n\r\n"
            ),
            "a",
            true,
            Complete,
        ),
        ("no last chunk", format!("{head}{chunked}1\r\na\r\n"), "a", false, Truncated),
        ("half an end", format!("{head}{chunked}1\r\na\r\n0\r\n"), "a", false, Truncated),
    ];
    for (name, bytes, body, end, ended) in cases {
        let parsed =
            parse_whole(bytes.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(
            (&*parsed.body, parsed.end, parsed.ended),
            (body.as_bytes(), *end, *ended),
            "{name}"
        );
        for at in 0..=bytes.len() {
            let (left, right) = bytes.as_bytes().split_at(at);
            let cut = parse(ResponseParser::new(), [left, right]);
            assert_eq!(cut.as_ref(), Ok(&parsed), "{name} cut at {at}");
        }
    }
    let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n";
    let parsed = parse(ResponseParser::to_head_request(), [&bytes[..]]).expect("no error");
    assert_eq!((parsed.end, parsed.ended), (true, Complete));
}

#[test]
fn invalid_chunk_framing_is_an_error_with_its_position() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (body, part, place) in [
        ("g\r\n", "was expected", 0),
        ("\r\n", "was expected", 0),
        ("-1\r\n", "was expected", 0),
        ("1x\r\n", "hexadecimal", 1),
        ("1\na", "hexadecimal", 1),
        ("1;a\n", "CR LF", 3),
        ("1\rx", "CR LF", 2),
        ("1\r\nab", "longer than", 4),
        ("00000000000000001\r\n", "16 digits", 16),
    ] {
        match parse_whole(format!("{head}{body}").as_bytes()) {
            Err(HttpError::Chunk { what, at }) => {
                assert!(what.contains(part) && at == place, "{body:?}: {what} at {at}");
            }
            other => panic!("{body:?}: {other:?}"),
        }
    }
    let behind = parse_whole(format!("{head}0\r\n\r\nx").as_bytes());
    assert_eq!(behind, Err(HttpError::AfterEnd { count: 1 }));
    let extension = format!("{head}1;{}", "a".repeat(5_000));
    let error = parse_whole(extension.as_bytes()).expect_err("too long");
    assert!(error.to_string().starts_with("HTTP chunk framing: a chunk-size line"), "{error}");
    let trailers = format!("{head}0\r\n{}", "a: b\r\n".repeat(20_000));
    let error = parse_whole(trailers.as_bytes()).expect_err("too long");
    assert!(error.to_string().starts_with("HTTP chunk framing: trailers"), "{error}");
}

#[test]
fn invalid_or_unsupported_response_heads_are_errors() {
    for length in ["-1", "+1", "x", "1,2", "", "99999999999999999999999"] {
        let bytes = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
        let error = parse_whole(bytes.as_bytes()).expect_err(length);
        assert!(matches!(error, HttpError::Length { .. }), "{length}: {error}");
    }
    let coded = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n";
    assert!(matches!(parse_whole(coded), Err(HttpError::Length { .. })));
    assert_eq!(parse_whole(b"HTTP/1.1 101 \r\n\r\n"), Err(HttpError::Upgrade));
    assert!(matches!(parse_whole(b"HTTP/2 200\r\n"), Err(HttpError::Head { .. })));
    let long = format!("HTTP/1.1 200 OK\r\nA: {}", "a".repeat(MAX_HEAD_BYTES));
    let error = HttpError::HeadTooLong { limit: MAX_HEAD_BYTES };
    assert_eq!(parse_whole(long.as_bytes()), Err(error.clone()));
    assert_eq!(parse_whole(format!("{long}\r\n\r\n").as_bytes()), Err(error.clone()));
    assert_eq!(parse(ResponseParser::new(), long.as_bytes().chunks(9_000)), Err(error));
}

#[test]
fn secrets_in_quoted_header_values_are_redacted_before_the_message_is_cut() {
    let headers = [("authorization".to_owned(), format!("Bearer sk-{}", "5".repeat(90)))];
    let secrets = Secrets::of_headers(&headers);
    let key = headers[0].1.trim_start_matches("Bearer ");
    for (head, shown) in [
        (format!("Content-Length: {key}"), r#"content-length "***": not a number"#),
        (format!("Content-Length: 1, {key}"), r#"content-length "***": not a number"#),
        (format!("Transfer-Encoding: {key}"), r#"transfer-encoding "***": only one"#),
        (format!("Transfer-Encoding: {}{key}", "x".repeat(70)), "x***\": only one"),
    ] {
        let bytes = format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n");
        let error = parse_whole(bytes.as_bytes()).expect_err(&head).redacted(&secrets).to_string();
        assert!(error.contains(shown) && !error.contains("sk-"), "{error}");
    }
    let long = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", "x".repeat(60_000));
    let error = parse_whole(long.as_bytes()).expect_err("not a number").to_string();
    assert!(error.contains("x…\": not a number of bytes") && error.len() < 200, "{error}");
}

fn requests<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<Request>, HttpError> {
    let mut parser = RequestParser::default();
    let mut requests = Vec::new();
    for piece in pieces {
        let mut next = parser.push(piece)?;
        while let Some(request) = next {
            requests.push(request);
            next = parser.push(&[])?;
        }
    }
    Ok(requests)
}

#[test]
fn pipelined_requests_are_parsed_in_order_however_the_bytes_are_split() {
    let bytes = b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc\
        GET /health?x HTTP/1.1\r\nConnection: close\r\n\r\n\
        POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nde\r\n0\r\nA: b\r\n\r\n";
    let all = requests([&bytes[..]]).expect("good requests");
    let seen: Vec<_> = all
        .iter()
        .map(|request| (&*request.method, &*request.target, &*request.body, request.keep_alive))
        .collect();
    let expected: [(&str, &str, &[u8], bool); 3] = [
        ("POST", "/v1/completions", b"abc", true),
        ("GET", "/health?x", b"", false),
        ("POST", "/", b"de", true),
    ];
    assert_eq!(seen, expected);
    assert_eq!(all[0].header("HOST"), Some("a"));
    for at in 0..=bytes.len() {
        let (left, right) = bytes.split_at(at);
        assert_eq!(requests([left, right]).as_ref(), Ok(&all), "cut at {at}");
    }
    assert_eq!(requests(bytes.chunks(1)), Ok(all));
}

#[test]
fn requests_that_exceed_a_limit_or_are_not_http_are_errors() {
    let long = format!("GET / HTTP/1.1\r\nA: {}", "a".repeat(MAX_HEAD_BYTES));
    assert!(matches!(requests([long.as_bytes()]), Err(HttpError::HeadTooLong { .. })));
    let large = b"POST / HTTP/1.1\r\nContent-Length: 67108865\r\n\r\n";
    assert!(matches!(requests([&large[..]]), Err(HttpError::BodyTooLong { .. })));
    let mut parser = RequestParser::default();
    parser.push(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5000000\r\n").expect("good");
    let mebibyte = vec![b'a'; 1 << 20];
    let failed = (0..80).find_map(|_| parser.push(&mebibyte).err());
    assert!(matches!(failed, Some(HttpError::BodyTooLong { .. })), "{failed:?}");
    assert!(matches!(requests([&b"hello\r\n\r\n"[..]]), Err(HttpError::Head { .. })));
}

#[test]
fn expect_100_continue_is_reported_once_and_not_if_the_body_is_already_there() {
    let mut parser = RequestParser::default();
    let head = b"POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n";
    assert_eq!(parser.push(head), Ok(None));
    assert!(parser.is_inside_request());
    assert!(parser.take_wants_continue());
    assert!(!parser.take_wants_continue());
    assert!(parser.push(b"a").expect("good").is_some());
    assert!(!parser.is_inside_request());
    assert!(parser.push(&[&head[..], b"a"].concat()).expect("good").is_some());
    assert!(!parser.take_wants_continue(), "the body has already arrived");
}

#[test]
fn written_heads_have_the_expected_bytes_and_can_be_parsed() {
    let own = vec![("Authorization".to_owned(), "Bearer x".to_owned())];
    let mut bytes = request_head("POST", "/v1/completions", "h:1", &own, Some(2));
    let text = "POST /v1/completions HTTP/1.1\r\nHost: h:1\r\nAuthorization: Bearer x\r\n\
                Content-Type: application/json\r\nContent-Length: 2\r\n\r\n";
    assert_eq!(String::from_utf8_lossy(&bytes), text);
    bytes.extend_from_slice(b"{}");
    let request = requests([&bytes[..]]).expect("good").remove(0);
    assert_eq!(
        (&*request.body, request.header("content-type")),
        (&b"{}"[..], Some("application/json"))
    );

    let own = vec![
        ("host".to_owned(), "other".to_owned()),
        ("CONTENT-TYPE".to_owned(), "a/b".to_owned()),
    ];
    let head = request_head("GET", "/", "h:1", &own, None);
    assert_eq!(
        String::from_utf8_lossy(&head),
        "GET / HTTP/1.1\r\nhost: other\r\nCONTENT-TYPE: a/b\r\n\r\n"
    );
    let head = response_head(429, &[("A", "b")]);
    assert_eq!(String::from_utf8_lossy(&head), "HTTP/1.1 429 Too Many Requests\r\nA: b\r\n\r\n");
}

#[test]
fn characters_of_a_path_that_would_end_the_request_line_are_escaped() {
    for (path, line) in [
        ("/v1/a b?c=%20&d=1", "POST /v1/a%20b?c=%20&d=1 HTTP/1.1"),
        ("/a\r\nX-Evil: 1\r\n\r\n", "POST /a%0D%0AX-Evil:%201%0D%0A%0D%0A HTTP/1.1"),
        ("/\0\u{7f}é", "POST /%00%7F%C3%A9 HTTP/1.1"),
    ] {
        let head = String::from_utf8(request_head("POST", path, "a:1", &[], None)).unwrap();
        assert_eq!(head.lines().next(), Some(line));
        assert_eq!(head.lines().count(), 3, "{head}");
    }
    assert_eq!(path_segment("../a b/ü?#%"), "..%2Fa%20b%2F%C3%BC%3F%23%25");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn chunked_bodies_are_decoded_however_they_are_chunked_and_split(
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..8),
        style in prop::collection::vec((any::<bool>(), 0_usize..3, 0_usize..4), 8),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let mut bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n".to_vec();
        for (chunk, (upper, zeros, extension)) in chunks.iter().zip(style) {
            if chunk.is_empty() {
                continue;
            }
            let length = chunk.len();
            let size = if upper { format!("{length:X}") } else { format!("{length:x}") };
            let extension = ["", ";a", " ; b=\"c;d\"", " "][extension];
            bytes.extend(format!("{}{size}{extension}\r\n", "0".repeat(zeros)).bytes());
            bytes.extend(chunk);
            bytes.extend(b"\r\n");
        }
        bytes.extend(LAST_CHUNK);
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        at.extend([0, bytes.len()]);
        at.sort_unstable();
        let pieces = at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
        let parsed = parse(ResponseParser::new(), pieces).expect("good framing");
        prop_assert_eq!(parsed.body, chunks.concat());
        prop_assert!(parsed.end);
    }

    #[test]
    fn written_chunks_are_decoded_by_the_request_and_the_response_parser(
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..5),
    ) {
        let mut framed = Vec::new();
        chunks.iter().for_each(|chunk| write_chunk(&mut framed, chunk));
        framed.extend(LAST_CHUNK);
        let coding = ("Transfer-Encoding", "chunked");
        let response = [response_head(200, &[coding]), framed.clone()].concat();
        prop_assert_eq!(parse_whole(&response).expect("good").body, chunks.concat());
        let own = [(coding.0.to_owned(), coding.1.to_owned())];
        let request = [request_head("POST", "/", "h", &own, None), framed].concat();
        prop_assert_eq!(&requests([&request[..]]).expect("good")[0].body, &chunks.concat());
    }

    #[test]
    fn arbitrary_bytes_do_not_make_the_parser_panic_and_splits_do_not_change_the_result(
        noise in prop::collection::vec(
            prop_oneof![any::<u8>(), Just(b'\r'), Just(b'\n'), Just(b'0')],
            0..60,
        ),
        behind in 0_usize..3,
        at in any::<prop::sample::Index>(),
    ) {
        let head: [&[u8]; 3] = [
            b"",
            b"HTTP/1.1 200 OK\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        ];
        let bytes = [head[behind], &noise].concat();
        let (left, right) = bytes.split_at(at.index(bytes.len() + 1));
        let (whole, cut) = (parse_whole(&bytes), parse(ResponseParser::new(), [left, right]));
        prop_assert_eq!(whole.is_ok(), cut.is_ok());
        if let (Ok(whole), Ok(cut)) = (whole, cut) {
            prop_assert_eq!(whole, cut);
        }
    }
}
