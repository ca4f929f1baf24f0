//! The SSE decoder on any bytes: it does not panic, and a stream cut in two or into single bytes gives the same
//! items as the whole.

use inferometer_wire::sse::{Decoder, SseItem};

pub fn check(bytes: &[u8]) {
    let (at, bytes) = super::cut(bytes);
    let whole = decode([bytes]);
    assert_eq!(decode(super::in_two(at, bytes)), whole);
    assert_eq!(decode(bytes.chunks(1)), whole);
}

/// The messages as (event, data), comments as none; and whether the end cut a message off.
fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Option<(String, String)>>, bool) {
    let mut decoder = Decoder::new();
    let mut items = Vec::new();
    for piece in pieces {
        let mut sink = |item: SseItem<'_>| {
            items.push(match item {
                SseItem::Comment => None,
                SseItem::Message { event, data } => Some((event.to_owned(), data.to_owned())),
            });
        };
        decoder.push(piece, &mut sink).expect("no input is as long as the limit");
    }
    (items, decoder.finish())
}
