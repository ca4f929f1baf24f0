//! Feeds [`inferometer_fuzz::plan`] from the fuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| inferometer_fuzz::plan::check(bytes));
