//! The text of a server's metrics: every line is a metric or is passed over.

use inferometer_http::prometheus::metrics;

pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for metric in metrics(text) {
        let _ = metric.label("le");
    }
}
