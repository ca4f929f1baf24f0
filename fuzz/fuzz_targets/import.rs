//! A file of results of any tool: reading it gives runs or an error, and the same ones again.
#![no_main]

use inferometer_formats::import::read;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let runs = read("results", bytes).map(|runs| runs.len());
    let again = read("results", bytes).map(|runs| runs.len());
    assert_eq!(runs.is_ok(), again.is_ok());
    if let (Ok(runs), Ok(again)) = (runs, again) {
        assert_eq!(runs, again);
    }
});
