//! The reference server counts its requests and tokens, and measures the delays of its tokens. This module does no I/O.

use std::time::Duration;

use inferometer_model::{Nanos, stats::histogram::Histogram};
use serde::{Deserialize, Serialize};

/// The counts of a reference server, updated for each request and token.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    requests: u64,
    tokens: u64,
    blocked: u64,
    lateness: Histogram,
    streams: u64,
    peak: u64,
    /// When the first stream began (for streams that began before the last reset: the time of the reset), and when the
    /// number of streams last changed.
    window: Option<(Nanos, Nanos)>,
    /// The integral of the number of streams over time, in nanoseconds.
    stream_ns: u128,
}

/// The counts as `/truth` sends them, in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerStats {
    /// The number of completion requests whose response has ended, complete or not.
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
    /// The median delay of tokens after their due times, in microseconds. Tokens without a due time count with the
    /// delay since the server began to send the tokens of a turn.
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

    /// Sets the counts to zero. Streams in progress count from now on.
    pub(crate) fn reset(&mut self, now: Nanos) {
        let streams = self.streams;
        let window = (streams > 0).then_some((now, now));
        *self = Self { streams, peak: streams, window, ..Self::default() };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_in_progress_counts_from_the_reset_of_the_counts() {
        let at = |seconds: u64| Nanos::ZERO + Duration::from_secs(seconds);
        let mut counters = Counters::default();
        counters.begin(at(0));
        counters.begin(at(1));
        counters.token(Duration::from_secs(1));
        counters.blocked();
        counters.end(at(2));
        counters.reset(at(10));
        let stats = counters.stats();
        assert_eq!((stats.requests, stats.tokens, stats.blocked), (0, 0, 0));
        assert_eq!((stats.peak_streams, stats.lateness_us_max), (1, 0.0));
        counters.begin(at(12));
        counters.end(at(13));
        counters.end(at(14));
        let stats = counters.stats();
        // One stream for 3 s and two streams for 1 s.
        assert_eq!((stats.requests, stats.peak_streams, stats.mean_streams), (2, 2, 1.25));
        // Without streams in progress, the time starts with the next stream.
        counters.reset(at(20));
        counters.begin(at(30));
        counters.end(at(31));
        assert_eq!(counters.stats().mean_streams, 1.0);
    }
}
