//! A file of results of any tool: reading it gives runs or an error, and the same ones again.

use inferometer_formats::import::read;

pub fn check(bytes: &[u8]) {
    let runs = read("results", bytes).map(|runs| runs.len()).ok();
    let again = read("results", bytes).map(|runs| runs.len()).ok();
    assert_eq!(runs, again);
}
