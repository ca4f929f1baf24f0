//! Concurrency: requests in flight, exact by a sweep line. Never one-second buckets.

use std::time::Duration;

use super::{Definition, Over, Unit, Value, Window, duration};

/// The most requests in flight.
pub static PEAK: Definition = Definition {
    name: "peak_concurrency",
    formula: "max over time of requests in flight, from send_start to ended",
    unit: Unit::Requests,
    origin: None,
    direction: None,
    over: Over::Sent,
    notes: "Exact. A request that ends at the instant at which another is sent is not counted \
            beside it.",
    source: "Inferometer.",
    version: 1,
    value: Value::Pass(peak_requests),
};

/// Requests in flight on average.
pub static MEAN: Definition = Definition {
    name: "mean_concurrency",
    formula: "integral of requests in flight / duration",
    notes: "Weighted by time.",
    value: Value::Pass(mean),
    ..PEAK
};

/// The most requests in flight at any instant; 0 when none was sent.
#[must_use]
pub fn peak(window: &Window) -> u64 {
    let mut starts: Vec<_> = window.spans.iter().map(|span| span.send_start).collect();
    let mut ends: Vec<_> = window.spans.iter().map(|span| span.ended).collect();
    starts.sort_unstable();
    ends.sort_unstable();
    let mut ended = 0;
    let mut peak = 0;
    for (started, start) in starts.into_iter().enumerate() {
        while ends.get(ended).is_some_and(|&end| end <= start) {
            ended += 1;
        }
        // A request of no length at all has ended before it counts as started.
        peak = peak.max((started + 1).saturating_sub(ended));
    }
    peak as u64
}

/// Requests in flight, averaged over the duration.
#[must_use]
pub fn mean(window: &Window) -> Option<f64> {
    // Summed as whole nanoseconds: exact, in any order.
    let in_flight: Duration =
        window.spans.iter().map(|span| span.ended.since(span.send_start)).sum();
    Some(in_flight.as_secs_f64() / duration::duration_s(window)?)
}

fn peak_requests(window: &Window) -> Option<f64> {
    Some(peak(window) as f64)
}
