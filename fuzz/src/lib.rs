//! The checks of the fuzz targets: one function for each target. The targets in `fuzz_targets/` call these functions
//! with the bytes of the fuzzer, and `crates/cli/tests/fuzz_seeds.rs` calls them with the files in `seeds/`.

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

/// The name of a target, and its check of an input.
pub type Target = (&'static str, fn(&[u8]));

/// All targets. The name of a target is also the name of its file in `fuzz_targets/` and of its folder in `seeds/`.
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

/// The first two bytes as a number, which determines where [`in_two`] splits the rest; and the rest. 0 and no bytes if
/// there are fewer than two bytes.
fn cut(bytes: &[u8]) -> (usize, &[u8]) {
    match bytes {
        [low, high, rest @ ..] => (usize::from(u16::from_le_bytes([*low, *high])), rest),
        _ => (0, &[]),
    }
}

/// The input, split in two at the position `at` modulo (length + 1).
fn in_two(at: usize, bytes: &[u8]) -> [&[u8]; 2] {
    let (left, right) = bytes.split_at(at % (bytes.len() + 1));
    [left, right]
}

/// The input in pieces: single bytes if there are fewer than 512, otherwise larger pieces. The reason: a head that
/// arrives in single bytes is parsed again with each byte, so a long one would take long.
fn in_pieces(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.chunks(1 + bytes.len() / 512)
}
