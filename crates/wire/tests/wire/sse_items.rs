//! The items that the SSE decoder finds in a stream that arrives in pieces.

use inferometer_wire::sse::{Decoder, SseItem};

/// A message as (event, data); `None` for a comment.
pub type Item = Option<(String, String)>;

/// The items of a stream, and whether the end of the stream cut a message.
pub fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Item>, bool) {
    let mut decoder = Decoder::new();
    let mut items = Vec::new();
    for piece in pieces {
        let mut sink = |item: SseItem<'_>| {
            items.push(match item {
                SseItem::Comment => None,
                SseItem::Message { event, data } => Some((event.to_owned(), data.to_owned())),
            });
        };
        decoder.push(piece, &mut sink).expect("no message is too long");
    }
    (items, decoder.finish())
}
