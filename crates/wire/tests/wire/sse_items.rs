//! The items that the SSE decoder finds in a stream that arrives in pieces.

use inferometer_wire::sse::{Decoder, SseItem};

/// A message as (event, data); `None` for a comment.
pub type Item = Option<(String, String)>;

/// The event and the data of a message that ends with the stream.
pub type Last = Option<(String, Option<String>)>;

/// The items of a stream, and the message inside which it ends.
pub fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Item>, Last) {
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
    let mut last = None;
    decoder.finish(&mut |event, data| last = Some((event.to_owned(), data.map(str::to_owned))));
    (items, last)
}
