//! What a pass has come to so far, for those who look on while it goes on: counts and histograms
//! in bounded memory, one record after the other. Never a figure of a report: those come from
//! [`crate::fold`], and are exact.

use std::time::Duration;

use inferometer_metrics::itl::itl_ms;
use inferometer_metrics::spans::Spans;
use inferometer_metrics::{InFlight, Span, Timeline, TokenCurve, e2e, ttft};
use inferometer_model::outcome::OutcomeCounts;
use inferometer_model::record::Record;
use inferometer_model::sample::ServerSample;
use inferometer_model::time::Nanos;
use inferometer_stats::Weighted;
use inferometer_stats::histogram::Histogram;

/// Requests in flight that are kept as they are; beyond, a grid of time counts them.
const SPANS_KEPT: usize = 1 << 14;

/// The records of a pass so far.
#[derive(Clone, Debug)]
pub struct SoFar {
    /// What became of requests that are over.
    pub outcomes: OutcomeCounts,
    /// Output tokens of those that completed.
    pub output_tokens: u64,
    /// First visible output after the send, of those that completed.
    pub ttft: Histogram,
    /// Gaps between tokens, pooled over tokens.
    pub itl: Histogram,
    /// Last token event after the send.
    pub e2e: Histogram,
    /// The same and others between fixed bounds, and how late the instrument was.
    pub spans: Spans,
    /// Output tokens over time.
    pub tokens: TokenCurve,
    /// Requests in flight over time.
    pub in_flight: InFlight,
    /// What the server said of itself last.
    pub server: Option<ServerSample>,
    gaps: Vec<Weighted>,
}

/// Nothing yet.
impl Default for SoFar {
    fn default() -> Self {
        Self {
            outcomes: OutcomeCounts::default(),
            output_tokens: 0,
            ttft: Histogram::default(),
            itl: Histogram::default(),
            e2e: Histogram::default(),
            spans: Spans::default(),
            tokens: TokenCurve::default(),
            in_flight: InFlight::keeping(SPANS_KEPT),
            server: None,
            gaps: Vec::new(),
        }
    }
}

impl SoFar {
    /// Takes in the record of a request that is over.
    pub fn add(&mut self, record: &Record) {
        let timeline = Timeline::new(record);
        self.outcomes.add(record.outcome);
        self.tokens.add(&timeline.events);
        if let (Some(send_start), Some(ended)) = (record.send_start, record.ended) {
            let completed = record.outcome.is_complete();
            self.in_flight.add(Span { send_start, ended, completed });
        }
        self.gaps.clear();
        if record.streamed && record.outcome.is_complete() {
            itl_ms(&timeline, &mut self.gaps);
        }
        self.spans.add(&timeline, &self.gaps);
        if !record.outcome.is_complete() {
            return;
        }
        self.output_tokens += u64::from(timeline.output_tokens);
        for (value, histogram) in [
            (ttft::from_sent(&timeline), &mut self.ttft),
            (e2e::from_sent(&timeline), &mut self.e2e),
        ] {
            value.into_iter().for_each(|ms| histogram.add(span(ms)));
        }
        for gap in &self.gaps {
            self.itl.add_times(span(gap.value), gap.weight.round() as u64);
        }
    }

    /// From the first send to the last end, of requests that are over.
    #[must_use]
    pub fn window(&self) -> Option<(Nanos, Nanos)> {
        self.in_flight.first_send().zip(self.in_flight.last_end())
    }

    /// Output tokens per second over the window.
    #[must_use]
    pub fn output_tokens_per_s(&self) -> Option<f64> {
        self.per_s(self.output_tokens)
    }

    /// Completed requests per second over the window.
    #[must_use]
    pub fn requests_per_s(&self) -> Option<f64> {
        self.per_s(self.outcomes.complete)
    }

    fn per_s(&self, count: u64) -> Option<f64> {
        let (from, until) = self.window()?;
        let seconds = until.since(from).as_secs_f64();
        (seconds > 0.0).then(|| count as f64 / seconds)
    }
}

fn span(ms: f64) -> Duration {
    Duration::try_from_secs_f64(ms / 1e3).unwrap_or(Duration::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_model::fixture::steady;
    use inferometer_model::outcome::Outcome;
    use inferometer_stats::buckets::Buckets;

    #[test]
    fn what_is_over_counts_and_what_failed_is_not_in_the_latencies() {
        let mut so_far = SoFar::default();
        assert_eq!((so_far.window(), so_far.requests_per_s()), (None, None));
        so_far.add(&steady(0.0, 50.0, 10.0, 6));
        so_far.add(&steady(100.0, 70.0, 10.0, 4));
        let mut failed = steady(0.0, 900.0, 10.0, 4);
        failed.outcome = Outcome::ServerError;
        so_far.add(&failed);
        assert_eq!((so_far.outcomes.complete, so_far.outcomes.failed()), (2, 1));
        assert_eq!((so_far.output_tokens, so_far.ttft.count(), so_far.itl.count()), (10, 2, 8));
        let [first, gap] = [so_far.ttft.max(), so_far.itl.quantile(0.5)].map(|s| s.as_millis());
        assert_eq!((first, gap), (70, 10));
        let spans = &so_far.spans;
        let counts = [&spans.ttft, &spans.itl, &spans.tpot, &spans.e2e].map(Buckets::count);
        assert_eq!((counts, spans.send_delay.count()), ([2.0, 8.0, 2.0, 2.0], 3.0));
        let (from, until) = so_far.window().expect("requests were sent");
        assert_eq!((from, until), (Nanos(0), Nanos(930_000_000)));
        assert!((so_far.output_tokens_per_s().expect("a window") - 10.0 / 0.93).abs() < 1e-9);
    }
}
