//! What the server counts of its own work, by its own clock. It sends nothing.

use std::time::Duration;

use inferometer_model::time::Nanos;
use inferometer_stats::histogram::Histogram;
use serde::{Deserialize, Serialize};

/// Counts of a server, updated as things happen.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    requests: u64,
    tokens: u64,
    blocked: u64,
    lateness: Histogram,
    streams: u64,
    peak: u64,
    /// When the first request was read, and when the number of streams last changed.
    window: Option<(Nanos, Nanos)>,
    /// Streams times nanoseconds.
    stream_ns: u128,
}

/// The counts as a document, which `/truth` sends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerStats {
    /// Requests whose response ended.
    pub requests: u64,
    /// Tokens sent.
    pub tokens: u64,
    /// Tokens that a connection did not take at once.
    pub blocked: u64,
    /// Most streams at one instant. A stream lasts from the end of its request to its last token.
    pub peak_streams: u64,
    /// Mean number of streams from the first request to the last end.
    pub mean_streams: f64,
    /// How late tokens were sent, in microseconds: median.
    pub lateness_us_p50: f64,
    /// The 99th percentile.
    pub lateness_us_p99: f64,
    /// The largest.
    pub lateness_us_max: f64,
}

impl Counters {
    pub(crate) fn begin(&mut self, now: Nanos) {
        self.change(now);
        self.streams += 1;
        self.peak = self.peak.max(self.streams);
    }

    pub(crate) fn token(&mut self, late: Duration) {
        self.tokens += 1;
        self.lateness.add(late);
    }

    pub(crate) fn blocked(&mut self) {
        self.blocked += 1;
    }

    pub(crate) fn end(&mut self, now: Nanos) {
        self.change(now);
        self.streams -= 1;
        self.requests += 1;
    }

    fn change(&mut self, now: Nanos) {
        let (first, last) = self.window.unwrap_or((now, now));
        self.stream_ns += u128::from(self.streams) * now.since(last).as_nanos();
        self.window = Some((first, now));
    }

    /// The counts so far.
    pub fn stats(&self) -> ServerStats {
        let us = |span: Duration| span.as_nanos() as f64 * 1e-3;
        let window_ns = self.window.map_or(0, |(first, last)| last.since(first).as_nanos());
        let mean = self.stream_ns as f64 / window_ns as f64;
        ServerStats {
            requests: self.requests,
            tokens: self.tokens,
            blocked: self.blocked,
            peak_streams: self.peak,
            mean_streams: if window_ns > 0 { mean } else { 0.0 },
            lateness_us_p50: us(self.lateness.quantile(0.50)),
            lateness_us_p99: us(self.lateness.quantile(0.99)),
            lateness_us_max: us(self.lateness.max()),
        }
    }
}
