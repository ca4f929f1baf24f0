//! Feeds [`inferometer_fuzz::sse`] from the fuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| inferometer_fuzz::sse::check(bytes));
