//! Reads any text as the metrics of a server. The reader must not panic: each line is a metric, or is skipped.

use inferometer_net::http::prometheus::metrics;

pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for metric in metrics(text) {
        let _ = metric.label("le");
    }
}
