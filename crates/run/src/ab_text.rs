//! Progress of a comparison as text: a line for each pair of blocks, and the maximum cost of the comparison.

use inferometer_analysis::ab::{Ab, Block};
use inferometer_plan::Plan;
use inferometer_plan::ab::AbPlan;

use crate::estimate::{about, in_words};

/// One line on the last pair: the deciding figure on both sides, and the estimate so far.
pub fn pair(plan: &AbPlan, comparison: &Ab<'_>, blocks: [&Block; 2]) -> String {
    let name = plan.figures.first().map(|figure| figure.name()).unwrap_or_default();
    let values = blocks.map(|block| block.values.first().copied().flatten());
    let of_pair = match values {
        [Some(a), Some(b)] => format!("{a:.4} and {b:.4}"),
        _ => "no value on one side".to_owned(),
    };
    let percent = |log: f64| 100.0 * log.exp_m1();
    let known = comparison.known().map_or_else(String::new, |known| {
        let ends = known.ends().map(|ends| ends.map(percent)).map_or_else(
            || "no interval yet".to_owned(),
            |[low, high]| format!("{low:+.1} % to {high:+.1} %"),
        );
        format!("; so far, B differs from A by {:+.1} % ({ends})", percent(known.mean))
    });
    format!("    pair {}: {name} {of_pair}{known}", comparison.pairs())
}

/// The maximum number of requests and the maximum time of a comparison, as text.
pub fn bound(plan: &Plan, ab: &AbPlan, most: Option<std::time::Duration>) -> String {
    let of_block = plan.passes.first().and_then(|pass| pass.requests()).unwrap_or(0);
    let pairs = plan.repeat.at_most;
    let requests = 2 * u64::from(pairs) * u64::from(of_block);
    let limit = ab.max_time.map_or_else(String::new, |most| format!(", or {}", in_words(most)));
    let time = most.map_or_else(String::new, |most| format!("; at most {}", about(most)));
    format!(
        "a comparison ends when its answer is certain: at most {requests} requests, {pairs} pairs \
            of blocks of {of_block} requests{limit}{time}"
    )
}
