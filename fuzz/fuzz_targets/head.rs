//! Feeds [`inferometer_fuzz::head`] from the fuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| inferometer_fuzz::head::check(bytes));
