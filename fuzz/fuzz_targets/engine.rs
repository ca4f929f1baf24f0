//! Feeds [`inferometer_fuzz::engine`] from the fuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| inferometer_fuzz::engine::check(bytes));
