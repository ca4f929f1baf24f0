//! Calls [`inferometer_fuzz::log::check`] with the bytes of the fuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| inferometer_fuzz::log::check(bytes));
