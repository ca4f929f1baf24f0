//! Parses any bytes as the head and the body of a response, without a dialect. The parser must not panic. The result
//! (head, body and end, or a refusal) must not depend on how the bytes are split. The lowest bit of the first byte
//! says whether the response answers a HEAD request.

use inferometer_wire::http::{Head, MessageEnd, Piece, ResponseParser};

pub fn check(bytes: &[u8]) {
    let Some((form, bytes)) = bytes.split_first() else { return };
    let (at, bytes) = super::cut(bytes);
    let whole = read(*form, [bytes]);
    assert_eq!(read(*form, super::in_two(at, bytes)), whole);
    assert_eq!(read(*form, super::in_pieces(bytes)), whole);
}

/// A parsed message. If the message is refused, there is none: the parser may have passed on a part of the body before
/// it found the mistake, and this part depends on how the bytes were split.
#[derive(Debug, PartialEq)]
struct Message {
    status: Option<u16>,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    ended: MessageEnd,
    keep_alive: bool,
}

fn read<'a>(form: u8, pieces: impl IntoIterator<Item = &'a [u8]>) -> Option<Message> {
    let mut parser =
        if form & 1 == 1 { ResponseParser::to_head_request() } else { ResponseParser::new() };
    let (mut head, mut body) = (None::<Head>, Vec::new());
    for piece in pieces {
        let mut sink = |piece: Piece<'_>| match piece {
            Piece::Head(found) => head = Some(found.clone()),
            Piece::Body(bytes) => body.extend_from_slice(bytes),
            Piece::End => {}
        };
        parser.push(piece, &mut sink).ok()?;
    }
    let ended = parser.finish();
    let (status, headers) = head.map(|head| (head.status, head.headers)).unzip();
    let headers = headers.unwrap_or_default();
    Some(Message { status, headers, body, ended, keep_alive: parser.keep_alive() })
}
