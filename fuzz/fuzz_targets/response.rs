//! Feeds [`inferometer_fuzz::response`] from the fuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| inferometer_fuzz::response::check(bytes));
