//! The SSE decoder on any bytes: it does not panic, and a stream cut in two or into single bytes
//! gives the same items as the whole.
#![no_main]

use inferometer_wire::sse::{Decoder, SseItem};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u16, &[u8])| {
    let (cut, bytes) = input;
    let whole = decode([bytes]);
    let (left, right) = bytes.split_at(usize::from(cut) % (bytes.len() + 1));
    assert_eq!(decode([left, right]), whole);
    assert_eq!(decode(bytes.chunks(1)), whole);
});

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
