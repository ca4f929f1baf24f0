//! Concurrency: requests in flight. The number changes at the instant of each send and each end. It is not rounded to
//! intervals of one second.

use super::{CoveredRequests, Definition, PassData, Unit, Value, duration};

/// The largest number of requests in flight.
pub static PEAK: Definition = Definition {
    name: "peak_concurrency",
    formula: "max over time of requests in flight, from send_start to ended",
    unit: Unit::Requests,
    direction: None,
    over: CoveredRequests::Sent,
    notes: "A request that ends exactly when another one is sent does not overlap with it. Exact \
        up to a million requests. With more requests, times are rounded to 1/131,072 of the pass \
        or finer.",
    value: Value::Pass(peak_requests),
    title: "Peak concurrency",
    result_key: "peak_concurrency",
    ..Definition::DEFAULT
};

/// The number of requests in flight, on average over time.
pub static MEAN: Definition = Definition {
    name: "mean_concurrency",
    formula: "integral of requests in flight / duration",
    notes: "Weighted by time.",
    value: Value::Pass(mean),
    title: "Mean concurrency",
    result_key: "mean_concurrency",
    ..PEAK
};

/// The largest number of requests in flight at any instant; 0 if no request was sent.
pub fn peak(data: &PassData) -> u64 {
    data.in_flight.steps().into_iter().map(|(_, in_flight)| in_flight).max().unwrap_or(0)
}

/// The number of requests in flight, averaged over the duration; absent if the pass has no duration.
pub fn mean(data: &PassData) -> Option<f64> {
    Some(data.in_flight.total_s() / duration::duration_s(data)?)
}

fn peak_requests(data: &PassData) -> Option<f64> {
    (data.planned > 0).then(|| peak(data) as f64)
}
