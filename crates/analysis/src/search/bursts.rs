//! Decides whether the requests of a closed loop start together. If all answers have equal lengths, the requests of a
//! batch end together, and the next ones start together. Then their prompts wait for each other. With varied lengths,
//! this does not happen.

use inferometer_model::Nanos;

/// Requests start together if they are due within this many seconds.
const TOGETHER_S: f64 = 0.005;
/// They must also be due within this share of the latency. Otherwise the evenly distributed requests of a fast server
/// would count as bursts.
const TOGETHER_LATENCIES: f64 = 0.1;
/// A burst has at least this share of the requests in flight.
const BURST: f64 = 0.75;
/// Requests start together if at least this share of them belongs to bursts.
const MOST: f64 = 0.75;

/// Whether most requests start together. `dues` are the due times in ascending order, without those of the first
/// rounds: the first rounds start together in every closed loop. The result is false if there are fewer requests than
/// two rounds have, or if fewer than two requests are in flight.
pub(super) fn start_together(dues: &[Nanos], in_flight: f64, latency_s: f64) -> bool {
    if in_flight < 2.0 || (dues.len() as f64) < 2.0 * in_flight {
        return false;
    }
    let within_s = TOGETHER_S.min(TOGETHER_LATENCIES * latency_s);
    let mut rest = dues;
    let mut in_bursts = 0;
    while let Some(first) = rest.first() {
        let size = rest.partition_point(|due| due.seconds_after(*first) <= within_s).max(1);
        if size as f64 >= BURST * in_flight {
            in_bursts += size;
        }
        rest = &rest[size..];
    }
    in_bursts as f64 >= MOST * dues.len() as f64
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// The due times of 40 requests. Request number n, counted from 0, is due at `at(n)` milliseconds.
    fn dues(at: impl Fn(u64) -> u64) -> Vec<Nanos> {
        (0..40).map(|request| Nanos::ZERO + Duration::from_millis(at(request))).collect()
    }

    #[test]
    fn requests_start_together_if_most_of_those_in_flight_are_due_within_milliseconds() {
        let bursts = dues(|request| request / 8 * 1000 + request % 8 / 4);
        let even = dues(|request| request * 125);
        for (dues, in_flight, latency_s, together) in [
            (&bursts, 8.0, 1.0, true),
            // Eight of 16 requests in flight start together. This is not most of them.
            (&bursts, 16.0, 1.0, false),
            (&even, 8.0, 1.0, false),
            // Too few requests after the first rounds, and a single request in flight.
            (&bursts, 32.0, 1.0, false),
            (&even, 1.0, 1.0, false),
        ] {
            assert_eq!(start_together(dues, in_flight, latency_s), together, "{in_flight}");
        }
        // With a latency of 8 ms, each request is due 1 ms after the one before it, so they are evenly distributed.
        assert!(!start_together(&dues(|request| request), 8.0, 0.008));
    }
}
