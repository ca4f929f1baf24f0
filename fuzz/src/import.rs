//! Reads any bytes as a result file of any tool. The reader must not panic. Reading the bytes twice must give the same
//! number of runs, or an error both times.

use inferometer_formats::import::read;

pub fn check(bytes: &[u8]) {
    let runs = read("results", bytes).map(|runs| runs.len()).ok();
    let again = read("results", bytes).map(|runs| runs.len()).ok();
    assert_eq!(runs, again);
}
