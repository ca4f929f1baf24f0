//! The text of a server's metrics: every line is a metric or is passed over.
#![no_main]

use inferometer_http::prometheus::metrics;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for metric in metrics(text) {
        let _ = metric.label("le");
    }
});
