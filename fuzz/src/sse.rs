//! Decodes any bytes as server-sent events. The decoder must not panic. If the stream is split in two or into single
//! bytes, the items must be the same as those of the whole stream.

#[path = "../../crates/wire/tests/wire/sse_items.rs"]
mod sse_items;

use sse_items::decode;

pub fn check(bytes: &[u8]) {
    let (at, bytes) = super::cut(bytes);
    let whole = decode([bytes]);
    assert_eq!(decode(super::in_two(at, bytes)), whole);
    assert_eq!(decode(bytes.chunks(1)), whole);
}
