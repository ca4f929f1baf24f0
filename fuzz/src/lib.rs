//! What each fuzz target holds on any bytes: one function a target. The targets in `fuzz_targets/` feed them from
//! the fuzzer, and `crates/cli/tests/fuzz_seeds.rs` from the files in `seeds/`.

pub mod bundle;
pub mod data_set;
pub mod engine;
pub mod head;
pub mod import;
pub mod log;
pub mod metrics;
pub mod plan;
pub mod request;
pub mod response;
pub mod sse;
mod words;

/// The name of a target, and what it does with an input.
pub type Target = (&'static str, fn(&[u8]));

/// The targets by name: the name of their file in `fuzz_targets/`, and of their folder in `seeds/`.
pub const TARGETS: [Target; 11] = [
    ("bundle", bundle::check),
    ("data_set", data_set::check),
    ("engine", engine::check),
    ("head", head::check),
    ("import", import::check),
    ("log", log::check),
    ("metrics", metrics::check),
    ("plan", plan::check),
    ("request", request::check),
    ("response", response::check),
    ("sse", sse::check),
];

/// The first two bytes as a number, where the input is cut in two, and the rest.
fn cut(bytes: &[u8]) -> (usize, &[u8]) {
    match bytes {
        [low, high, rest @ ..] => (usize::from(u16::from_le_bytes([*low, *high])), rest),
        _ => (0, &[]),
    }
}

/// The input cut in two.
fn in_two(at: usize, bytes: &[u8]) -> [&[u8]; 2] {
    let (left, right) = bytes.split_at(at % (bytes.len() + 1));
    [left, right]
}

/// The input in small pieces: single bytes, unless it is long, for a head in single bytes is parsed again with
/// each.
fn in_pieces(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.chunks(1 + bytes.len() / 512)
}
