//! The SSE decoder on any bytes: it does not panic, and a stream cut in two or into single bytes gives the same
//! items as the whole.

#[path = "../../crates/wire/tests/wire/sse_items.rs"]
mod sse_items;

use sse_items::decode;

pub fn check(bytes: &[u8]) {
    let (at, bytes) = super::cut(bytes);
    let whole = decode([bytes]);
    assert_eq!(decode(super::in_two(at, bytes)), whole);
    assert_eq!(decode(bytes.chunks(1)), whole);
}
