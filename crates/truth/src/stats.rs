//! The truth server counts its requests and tokens, and measures the delays of its tokens. This module does no I/O.

use std::time::Duration;

use inferometer_model::time::Nanos;
use inferometer_stats::histogram::Histogram;
use serde::{Deserialize, Serialize};

/// The counts of a truth server, updated for each request and token.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    requests: u64,
    tokens: u64,
    blocked: u64,
    lateness: Histogram,
    streams: u64,
    peak: u64,
    /// When the first stream began, and when the number of streams last changed.
    window: Option<(Nanos, Nanos)>,
    /// The integral of the number of streams over time, in nanoseconds.
    stream_ns: u128,
}

/// The counts as `/truth` sends them, in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerStats {
    /// The number of requests whose response has ended, complete or not.
    pub requests: u64,
    /// The number of tokens sent.
    pub tokens: u64,
    /// The number of tokens that a socket did not accept immediately.
    pub blocked: u64,
    /// The maximum number of simultaneous streams. A stream lasts from the end of its request to its last token.
    pub peak_streams: u64,
    /// The mean number of simultaneous streams over time. The time starts with the first stream and ends with the last
    /// start or end of a stream.
    pub mean_streams: f64,
    /// The median delay of tokens after their due times, in microseconds.
    pub lateness_us_p50: f64,
    /// The 99th percentile of the delay, in microseconds.
    pub lateness_us_p99: f64,
    /// The maximum delay, in microseconds.
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

    /// The counts so far, with means and quantiles.
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
