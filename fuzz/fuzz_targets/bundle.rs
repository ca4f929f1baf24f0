//! Feeds [`inferometer_fuzz::bundle`] from the fuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| inferometer_fuzz::bundle::check(bytes));
