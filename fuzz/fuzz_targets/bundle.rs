//! Calls [`inferometer_fuzz::bundle::check`] with the bytes of the fuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| inferometer_fuzz::bundle::check(bytes));
