//! Feeds [`inferometer_fuzz::metrics`] from the fuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| inferometer_fuzz::metrics::check(bytes));
