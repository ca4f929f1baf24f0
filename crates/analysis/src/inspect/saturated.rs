//! The finding that requests arrived faster than they ended.

use inferometer_model::{Finding, code};

use crate::growth::Growth;

/// The finding on overload; `None` if the growth is not significant.
pub(super) fn over_saturated(growth: Growth) -> Option<Finding> {
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
    let limit = served_per_s.map_or_else(String::new, |[served, low, high]| {
        format!(
            "; the server's limit here is {} requests/s (95 % interval: {} to {})",
            short(served),
            short(low.max(0.0)),
            short(high)
        )
    });
    let message = format!(
        "Requests arrived faster than the server completed them: over the last {span_s:.1} s of \
            arrivals, the number in flight grew by {} each second (95 % interval: {} to {}), from {} to {}. {} \
            requests/s arrived and {ended}{limit}. Latencies depend on \
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
