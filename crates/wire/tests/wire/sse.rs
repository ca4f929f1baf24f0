//! Compares the SSE decoder with three references: expected items written by hand, an implementation of the
//! standard that reads the whole input at once, and an independent crate.

use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use inferometer_wire::sse::{Decoder, SseError};
use proptest::prelude::*;

use crate::sse_items::{Item, Last, decode};

fn whole(bytes: &[u8]) -> (Vec<Item>, Last) {
    decode([bytes])
}

fn message(event: &str, data: &str) -> Item {
    Some((event.to_owned(), data.to_owned()))
}

/// The algorithm of the standard, step by step, over the whole input: decode the text, split it into lines,
/// interpret each line. As an addition to the standard, it returns the two forms of errors and the comments.
fn reference(bytes: &[u8]) -> Vec<Item> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut lines: Vec<&str> = text.split('\n').collect();
    // The text after the last line end is an incomplete line.
    lines.pop();
    let (mut items, mut event, mut data, mut comment) =
        (Vec::new(), String::new(), String::new(), String::new());
    for line in lines {
        if line.is_empty() {
            if let Some(data) = data.strip_suffix('\n') {
                items.push(message(&event, data));
            } else if event == "error" {
                items.push(message(&event, &comment));
            }
            (event, data, comment) = Default::default();
        } else if let Some(words) = line.strip_prefix(':') {
            comment = words.trim().to_owned();
            items.push(None);
        } else {
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "event" => event = value.to_owned(),
                "data" => data.extend([value, "\n"]),
                // Some servers send errors in this form.
                "error" => {
                    event = "error".to_owned();
                    data.extend([value, "\n"]);
                }
                _ => {}
            }
        }
    }
    items
}

/// The messages as decoded by the crate `sseer`, which omits comments and names the default event.
fn independent(pieces: Vec<Vec<u8>>) -> Vec<Item> {
    struct Pieces(std::vec::IntoIter<Vec<u8>>);
    impl futures_core::Stream for Pieces {
        type Item = Result<Vec<u8>, Infallible>;
        fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
            Poll::Ready(self.0.next().map(Ok))
        }
    }
    let mut stream = pin!(sseer::event_stream::EventStream::new(Pieces(pieces.into_iter())));
    let mut items = Vec::new();
    let mut context = Context::from_waker(Waker::noop());
    while let Poll::Ready(Some(event)) =
        futures_core::Stream::poll_next(stream.as_mut(), &mut context)
    {
        let event = event.expect("the stream is valid UTF-8");
        let name = if &*event.event == "message" { "" } else { &event.event };
        items.push(message(name, &event.data));
    }
    items
}

fn messages_only(items: Vec<Item>) -> Vec<Item> {
    items.into_iter().filter(Option::is_some).collect()
}

#[test]
fn the_decoder_follows_the_sse_standard_except_for_two_forms_of_errors() {
    /// The event and the data of the message inside which a stream ends.
    type Cut = Option<(&'static str, Option<&'static str>)>;
    let cases: &[(&str, &[u8], &[Item], Cut)] = &[
        ("one line", b"data: a\n\n", &[message("", "a")], None),
        ("no space", b"data:a\n\n", &[message("", "a")], None),
        ("one space is removed", b"data:  a\n\n", &[message("", " a")], None),
        ("CR", b"data: a\r\rdata: b\r\r", &[message("", "a"), message("", "b")], None),
        ("CR LF", b"data: a\r\n\r\n", &[message("", "a")], None),
        ("mixed ends", b"data: a\r\n\ndata: b\n\r\n", &[message("", "a"), message("", "b")], None),
        ("many lines", b"data: a\ndata\ndata: c\n\n", &[message("", "a\n\nc")], None),
        ("empty data", b"data\n\ndata:\n\n", &[message("", ""), message("", "")], None),
        ("two empty", b"data\ndata\n\n", &[message("", "\n")], None),
        ("no data", b"event: x\n\n", &[], None),
        ("a named event", b"event: x\ndata: a\n\n", &[message("x", "a")], None),
        ("a name for one message", b"event: x\n\ndata: a\n\n", &[message("", "a")], None),
        ("comments", b": hi\n\n:\ndata: a\n\n", &[None, None, message("", "a")], None),
        ("other fields", b"id: 1\nretry: 5\nfoo: 1\ndata: a\n\n", &[message("", "a")], None),
        ("a colon in the value", b"data: a: b\n\n", &[message("", "a: b")], None),
        ("a BOM", b"\xef\xbb\xbfdata: a\n\n", &[message("", "a")], None),
        ("one BOM only", b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\n", &[], None),
        (
            "an error in a comment",
            b"event: error\n: it died\n\n",
            &[None, message("error", "it died")],
            None,
        ),
        ("an error without text", b"event: error\n\n", &[message("error", "")], None),
        ("an error as a field", b"error: {\"a\":1}\n\n", &[message("error", "{\"a\":1}")], None),
        ("bad UTF-8", b"data: a\xe2\x82\n\n", &[message("", "a\u{fffd}")], None),
        ("no empty line", b"data: a\n", &[], Some(("", Some("a")))),
        ("no line end", b"data: a\ndata: b", &[], Some(("", Some("a\nb")))),
        ("a cut comment", b":a", &[], None),
        ("a cut name", b"event: x\n", &[], Some(("x", None))),
        ("a cut field", b"data: a\n\nda", &[message("", "a")], Some(("", None))),
        ("a cut error", b"event: error\n: died\n", &[None], Some(("error", Some("died")))),
        ("nothing", b"", &[], None),
    ];
    for (name, bytes, items, last) in cases {
        let last = last.map(|(event, data)| (event.to_owned(), data.map(str::to_owned)));
        assert_eq!(whole(bytes), (items.to_vec(), last), "{name}");
        assert_eq!(reference(bytes), *items, "{name}, by the reference");
    }
}

#[test]
fn a_message_is_dispatched_as_soon_as_its_empty_line_ends() {
    for end in ["\n\n", "\r\r", "\r\n\r"] {
        let mut decoder = Decoder::new();
        let mut count = 0;
        let bytes = format!("data: a{end}");
        decoder.push(bytes.as_bytes(), &mut |_| count += 1).expect("short");
        assert_eq!(count, 1, "{end:?}");
        decoder.push(b"\n", &mut |_| count += 1).expect("short");
        assert_eq!(count, 1, "{end:?} and the LF of a CR LF");
    }
}

#[test]
fn a_message_longer_than_the_limit_is_an_error() {
    let too_long: [&[u8]; 3] = [b"data: 0123456789", b"data: 01234\ndata: 567\n", b":0123456789a"];
    for bytes in too_long {
        let mut decoder = Decoder::with_limit(8);
        let result: Result<(), SseError> =
            bytes.chunks(3).try_for_each(|piece| decoder.push(piece, &mut |_| ()));
        assert_eq!(result, Err(SseError::TooLong { limit: 8 }), "{bytes:?}");
    }
    let mut decoder = Decoder::with_limit(8);
    for _ in 0..100 {
        decoder.push(b"data: 0\n\n", &mut |_| ()).expect("each message is short");
    }
}

/// Streams of the parts that have a meaning in the format, in any order.
fn stream() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        6 => Just("\n"), 4 => Just("\r"), 3 => Just("\r\n"), 4 => Just("data"), 4 => Just("data: "),
        3 => Just("event: x"), 3 => Just(":"), 2 => Just(" "), 2 => Just("a"), 1 => Just("é€😀"),
        1 => Just("id: 7"), 1 => Just("retry: 1"), 1 => Just("\u{feff}"), 1 => Just("\0"),
    ];
    prop::collection::vec(part, 0..40).prop_map(|parts| parts.concat())
}

fn pieces(bytes: &[u8], mut cuts: Vec<prop::sample::Index>) -> Vec<Vec<u8>> {
    let mut at: Vec<usize> = cuts.drain(..).map(|cut| cut.index(bytes.len() + 1)).collect();
    at.extend([0, bytes.len()]);
    at.sort_unstable();
    at.windows(2).map(|pair| bytes[pair[0]..pair[1]].to_vec()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_decoder_agrees_with_the_reference_on_any_bytes_however_they_are_split(
        text in stream(),
        noise in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let mut bytes = text.into_bytes();
        for (index, byte) in noise {
            bytes.insert(index.index(bytes.len() + 1), byte);
        }
        let pieces = pieces(&bytes, cuts);
        prop_assert_eq!(decode(pieces.iter().map(|piece| &piece[..])).0, reference(&bytes));
    }

    #[test]
    fn the_decoder_agrees_with_an_independent_decoder(
        text in stream(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let pieces = pieces(text.as_bytes(), cuts);
        let ours = messages_only(decode(pieces.iter().map(|piece| &piece[..])).0);
        prop_assert_eq!(ours, independent(pieces));
    }

    #[test]
    fn splitting_a_stream_at_any_byte_gives_the_same_items(text in stream()) {
        let expected = whole(text.as_bytes());
        for at in 0..=text.len() {
            let (left, right) = text.as_bytes().split_at(at);
            prop_assert_eq!(&decode([left, right]), &expected, "cut at {}", at);
        }
        prop_assert_eq!(&decode(text.as_bytes().chunks(1)), &expected);
    }
}
