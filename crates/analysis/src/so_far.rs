//! Live statistics of a pass in progress: counts and histograms in limited memory, updated with each record. Reports do
//! not use them; the figures of reports come from [`crate::fold`].

use std::time::Duration;

use inferometer_model::metrics::{InFlight, Live, Span, TokenCurve, registry};
use inferometer_model::{
    Definition, Nanos, OutcomeCounts, Timeline, metrics::live_histograms::LiveHistograms,
    sample::ServerSample, stats::Weighted, stats::histogram::Histogram,
};

/// The spans of up to this many ended requests are stored one by one. With more requests, a grid of time intervals
/// counts all of them.
const SPANS_KEPT: usize = 1 << 14;

/// Statistics of the records of a pass so far.
#[derive(Clone, Debug)]
pub struct SoFar {
    /// The outcomes of the requests that have ended.
    pub outcomes: OutcomeCounts,
    /// Output tokens of the completed requests.
    pub output_tokens: u64,
    /// The metrics that are shown during a pass, over completed requests, in the order of [`Live::place`].
    pub watched: Vec<(&'static Definition, &'static Live, Histogram)>,
    /// Latencies and send delays in histograms with fixed bounds.
    pub histograms: LiveHistograms,
    /// Output tokens over time, including those of failed requests.
    pub tokens: TokenCurve,
    /// Requests in flight over time.
    pub in_flight: InFlight,
    /// The latest sample of the server's metrics; absent before the first one.
    pub server: Option<ServerSample>,
    values: Vec<Weighted>,
}

/// Statistics without records.
impl Default for SoFar {
    fn default() -> Self {
        Self {
            watched: registry::live()
                .into_iter()
                .filter(|(_, live)| !live.watched.is_empty())
                .map(|(metric, live)| (metric, live, Histogram::default()))
                .collect(),
            in_flight: InFlight::keeping(SPANS_KEPT),
            outcomes: OutcomeCounts::default(),
            output_tokens: 0,
            histograms: LiveHistograms::default(),
            tokens: TokenCurve::default(),
            server: None,
            values: Vec::new(),
        }
    }
}

impl SoFar {
    /// Adds the record of a request that has ended.
    pub fn add(&mut self, timeline: &Timeline<'_>) {
        let record = timeline.record;
        self.outcomes.add(record.outcome);
        self.tokens.add(&timeline.events);
        if let (Some(send_start), Some(ended)) = (record.send_start, record.ended) {
            self.in_flight.add(Span { send_start, ended });
        }
        self.histograms.add(timeline);
        if !record.outcome.is_complete() {
            return;
        }
        self.output_tokens += u64::from(timeline.output_tokens);
        for (metric, _, histogram) in &mut self.watched {
            self.values.clear();
            metric.value.append(timeline, &mut self.values);
            for of in &self.values {
                histogram.add_times(span(of.value), of.weight.round() as u64);
            }
        }
    }

    /// The metrics whose distributions are plotted: those with several watched statistics.
    pub fn drawn(&self) -> impl Iterator<Item = (&'static Definition, &Histogram)> {
        let drawn = self.watched.iter().filter(|(_, live, _)| live.watched.len() > 1);
        drawn.map(|(metric, _, histogram)| (*metric, histogram))
    }

    /// The first send and the last end among the requests that have ended. `None` if none of them was sent.
    pub fn window(&self) -> Option<(Nanos, Nanos)> {
        self.in_flight.first_send().zip(self.in_flight.last_end())
    }

    /// Output tokens per second of [`SoFar::window`].
    pub fn output_tokens_per_s(&self) -> Option<f64> {
        self.per_s(self.output_tokens)
    }

    /// Completed requests per second of [`SoFar::window`].
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

    #[test]
    fn ended_requests_are_counted_and_failed_ones_are_excluded_from_latencies() {
        let mut so_far = SoFar::default();
        assert_eq!((so_far.window(), so_far.requests_per_s()), (None, None));
        so_far.add(&Timeline::new(&steady(0.0, 50.0, 10.0, 6)));
        so_far.add(&Timeline::new(&steady(100.0, 70.0, 10.0, 4)));
        let mut failed = steady(0.0, 900.0, 10.0, 4);
        failed.outcome = Outcome::ServerError;
        so_far.add(&Timeline::new(&failed));
        assert_eq!((so_far.outcomes.complete, so_far.outcomes.failed()), (2, 1));
        let drawn: Vec<_> = so_far.drawn().collect();
        let [(ttft, first), (itl, gaps)] = drawn[..] else { panic!("{drawn:?}") };
        assert_eq!((ttft.name, first.count(), first.max().as_millis()), ("ttft", 2, 70));
        assert_eq!((itl.name, gaps.count(), gaps.quantile(0.5).as_millis()), ("itl", 8, 10));
        let histograms = so_far.histograms.metrics.iter();
        let counts: Vec<(&str, f64)> = histograms
            .map(|(of, _, at)| (of.name, at.cumulative().last().map_or(0.0, |(_, count)| count)))
            .collect();
        let of_complete = [("ttft", 2.0), ("itl", 8.0), ("tpot", 2.0), ("e2e", 2.0)];
        assert_eq!((&counts[..4], counts[4]), (&of_complete[..], ("send_delay", 3.0)));
        assert_eq!(so_far.output_tokens, 10);
        let (from, until) = so_far.window().expect("requests were sent");
        assert_eq!((from, until), (Nanos(0), Nanos(930_000_000)));
        assert!((so_far.output_tokens_per_s().expect("a window") - 10.0 / 0.93).abs() < 1e-9);
    }
}
