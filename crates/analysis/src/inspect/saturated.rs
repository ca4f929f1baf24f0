//! The finding that requests arrived faster than they ended.

use inferometer_model::{Finding, code};

use crate::growth::Growth;

/// The finding on overload; `None` if the growth is not significant. `limit` is the maximum number in flight of the plan:
/// other requests wait until they are sent.
pub(super) fn over_saturated(growth: Growth, limit: Option<u32>) -> Option<Finding> {
    let Growth { per_s, low, high, arrived_per_s, ended_per_s, failed_per_s, .. } = growth;
    let Growth { span_s, before, after, served_per_s, .. } = growth;
    let ended = match failed_per_s > 0.0 {
        false => format!("{} ended", short(ended_per_s)),
        true => format!(
            "{} failed and {} completed",
            short(failed_per_s),
            short(ended_per_s - failed_per_s)
        ),
    };
    let served = served_per_s.map_or_else(String::new, |[served, low, high]| {
        format!(
            "; the server's limit here is {} requests/s (95 % interval: {} to {})",
            short(served),
            short(low.max(0.0)),
            short(high)
        )
    });
    let (what, latencies) = match limit {
        None => ("the number in flight".to_owned(), "Latencies"),
        Some(limit) => (
            format!("the number of requests in flight (at most {limit}) and waiting"),
            "Latencies from the due time",
        ),
    };
    let message = format!(
        "Requests arrived faster than the server completed them: over the last {span_s:.1} s of \
            arrivals, {what} grew by {} each second (95 % interval: {} to {}), from {} to {}. {} \
            requests/s arrived and {ended}{served}. {latencies} depend on \
            the length of the pass: a longer pass has larger ones.",
        short(per_s),
        short(low),
        short(high),
        short(before),
        short(after),
        short(arrived_per_s)
    );
    growth.is_shown().then(|| Finding::of(code::OVER_SATURATED, message))
}

fn short(value: f64) -> String {
    crate::search::load_text(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_a_limit_in_flight_the_growing_number_is_that_of_requests_in_flight_and_waiting() {
        let growth = Growth {
            per_s: 13.0,
            low: 12.0,
            high: 14.0,
            arrived_per_s: 16.0,
            ended_per_s: 3.0,
            failed_per_s: 0.0,
            span_s: 6.0,
            before: 89.4,
            after: 172.0,
            served_per_s: None,
        };
        let message = |limit| over_saturated(growth, limit).unwrap().message;
        let with_limit = message(Some(16));
        let waiting = "the number of requests in flight (at most 16) and waiting grew by";
        assert!(with_limit.contains(waiting), "{with_limit}");
        assert!(with_limit.contains("Latencies from the due time depend"), "{with_limit}");
        assert!(message(None).contains("the number in flight grew by"), "{}", message(None));
    }
}
