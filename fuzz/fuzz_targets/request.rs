//! Feeds [`inferometer_fuzz::request`] from the fuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| inferometer_fuzz::request::check(bytes));
