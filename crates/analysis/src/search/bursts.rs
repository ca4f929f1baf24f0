//! Finds out whether the requests of a closed loop start together. If all answers have equal lengths, the requests of a
//! batch end together, and the next ones start together. Then their prompts wait for each other, which varied lengths
//! would avoid.

use inferometer_model::time::Nanos;

/// Requests start together if they are due within this many seconds.
const TOGETHER_S: f64 = 0.005;
/// And within this share of the latency, so that a fast server does not look like one with bursts.
const TOGETHER_LATENCIES: f64 = 0.1;
/// A burst has at least this share of the requests in flight.
const BURST: f64 = 0.75;
/// At least this share of the requests belongs to bursts.
const MOST: f64 = 0.75;

/// Whether most requests start together. `dues` are the due times after the first rounds, in ascending order: these
/// start together in every closed loop. With fewer requests than two rounds, nothing is known.
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

    /// 40 requests; the `at`th one is due `at(at)` milliseconds after the first.
    fn dues(at: impl Fn(u64) -> u64) -> Vec<Nanos> {
        (0..40).map(|request| Nanos::ZERO + Duration::from_millis(at(request))).collect()
    }

    #[test]
    fn requests_start_together_if_most_of_those_in_flight_are_due_within_milliseconds() {
        let bursts = dues(|request| request / 8 * 1000 + request % 8 / 4);
        let even = dues(|request| request * 125);
        for (dues, in_flight, latency_s, together) in [
            (&bursts, 8.0, 1.0, true),
            // Three of 16 in flight always start together, but not most of them.
            (&bursts, 16.0, 1.0, false),
            (&even, 8.0, 1.0, false),
            // Too few requests after the first rounds, and a single request in flight.
            (&bursts, 32.0, 1.0, false),
            (&even, 1.0, 1.0, false),
        ] {
            assert_eq!(start_together(dues, in_flight, latency_s), together, "{in_flight}");
        }
        // At 8 ms per answer, all requests are due within milliseconds of others, but evenly.
        assert!(!start_together(&dues(|request| request), 8.0, 0.008));
    }
}
