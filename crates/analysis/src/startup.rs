//! Decides which requests of a trial count: those that ran in the steady state of the load. The choice is a range of
//! due times. In this range, requests count whatever their outcome.

use inferometer_model::Nanos;

use crate::stay::HasStay;

/// The part of a trial that counts, as indices of its requests in the order of their due times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CountedPart {
    /// The index of the first request that counts.
    pub startup: usize,
    /// The index of the first request of the drain, which does not count.
    pub end: usize,
    /// The median time from the due time to the end, in seconds ([`median_latency_s`]).
    pub latency_s: f64,
    /// Whether the trial was long enough for a steady state.
    pub is_settled: bool,
}

/// A trial begins with an idle server. It reaches its steady state after this many times the median latency of its
/// requests, or later.
const STARTUP_LATENCIES: f64 = 3.0;
/// After the last arrival, the number in flight falls. A request that is due less than this many latencies before the
/// last arrival runs with fewer others than in the steady state.
const DRAIN_LATENCIES: f64 = 1.0;
/// The start-up has at most 1 / `MOST_STARTUP` of the requests of a trial: the first half.
const MOST_STARTUP: usize = 2;
/// Instants that differ by at most this many seconds count as equal. In a closed loop with equal lengths, requests are
/// due exactly a whole number of latencies after the first one. Stored times are rounded, so without a tolerance a
/// stored trial might count other requests than the same trial in progress.
const EQUAL_S: f64 = 1e-6;
/// Latencies still grow if their sum over the last quarter of the requests exceeds this many times their sum over the
/// quarter before it.
const GROWS: f64 = 1.1;
/// In a settled trial, at least 1 / `SETTLED_PART` of the requests count: a quarter.
const SETTLED_PART: usize = 4;

/// Determines the part of a trial that counts. `rows` must be in the order of their due times.
pub(crate) fn counted<R: HasStay>(rows: &[R]) -> CountedPart {
    let latency_s = median_latency_s(rows);
    let due = |row: Option<&R>| row.map_or(Nanos::ZERO, |row| row.stay().due);
    let [first, last] = [due(rows.first()), due(rows.last())];
    let until = last.seconds_after(first) - DRAIN_LATENCIES * latency_s;
    let at = |row: &R| row.stay().due.seconds_after(first);
    let filled = rows.partition_point(|row| at(row) + EQUAL_S < STARTUP_LATENCIES * latency_s);
    let startup = filled.max(settled_after(rows)).min(rows.len() / MOST_STARTUP);
    let end = rows.partition_point(|row| at(row) <= until + EQUAL_S);
    // If latencies exceed the time over which requests arrived, all requests after the start-up count.
    let steady = end.saturating_sub(startup);
    CountedPart {
        startup,
        end: if steady > 0 { end } else { rows.len() },
        latency_s,
        is_settled: SETTLED_PART * steady >= rows.len().max(1)
            && !(startup >= rows.len() / MOST_STARTUP && grows(rows)),
    }
}

/// Whether latencies still grow at the end of the trial.
fn grows<R: HasStay>(rows: &[R]) -> bool {
    let quarter = rows.len() / 4;
    let sum = |rows: &[R]| rows.iter().map(|row| row.stay().seconds()).sum::<f64>();
    let last = rows.len() - quarter;
    sum(&rows[last..]) > GROWS * sum(&rows[last - quarter..last])
}

/// The number of requests at the start whose latencies are lower than those of the other requests. If these requests
/// are left out, the mean of the others has the smallest error (K. P. White, "An effective truncation heuristic for
/// bias reduction in simulation output", Simulation 69, 1997, with means over five requests).
fn settled_after<R: HasStay>(rows: &[R]) -> usize {
    const TOGETHER: usize = 5;
    let means: Vec<f64> = rows
        .chunks_exact(TOGETHER)
        .map(|rows| rows.iter().map(|row| row.stay().seconds()).sum::<f64>())
        .collect();
    let (mut sum, mut squares, mut count) = (0.0, 0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    for (at, mean) in means.iter().enumerate().rev() {
        (sum, squares, count) = (sum + mean, squares + mean * mean, count + 1.0);
        let error = (squares - sum * sum / count) / (count * count);
        if at <= means.len() / MOST_STARTUP && error <= best.0 {
            best = (error, at);
        }
    }
    // An idle server is fast. So if the first requests are slower than the rest, the difference is a fluctuation, and
    // these requests count.
    let (before, after) = means.split_at(best.1);
    let mean = |means: &[f64]| means.iter().sum::<f64>() / means.len().max(1) as f64;
    if mean(before) < mean(after) { best.1 * TOGETHER } else { 0 }
}

/// The median time from the due time to the end, in seconds. If any request completed, only completed requests are
/// used, because requests that are refused immediately do not show how long an answer takes.
pub(crate) fn median_latency_s<R: HasStay>(rows: &[R]) -> f64 {
    let any_complete = rows.iter().any(|row| row.stay().complete);
    let taken = rows.iter().map(HasStay::stay).filter(|stay| stay.complete || !any_complete);
    let mut spans: Vec<f64> = taken.map(|stay| stay.seconds()).collect();
    spans.sort_unstable_by(f64::total_cmp);
    spans.get(spans.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::stay::Stay;

    #[test]
    fn rounding_of_times_does_not_change_which_requests_of_a_closed_loop_count() {
        // Five waves of eight requests. Each wave begins when the one before it ends.
        let waves = |round_ns: u64| {
            let at = |wave: u32| {
                let nanos = u64::from(wave) * 2_650_212_345;
                Nanos::ZERO + Duration::from_nanos(nanos / round_ns * round_ns)
            };
            let one = |index: u32| Stay::new(at(index / 8), None, at(index / 8 + 1), true);
            counted(&(0..40).map(one).collect::<Vec<Stay>>())
        };
        let [exact, rounded] = [1, 100].map(waves);
        assert_eq!(
            (exact.startup, exact.end, exact.is_settled),
            (rounded.startup, rounded.end, rounded.is_settled)
        );
    }
}
