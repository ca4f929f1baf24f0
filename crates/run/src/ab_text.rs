//! Progress of a comparison as text: the figures of each pair of blocks, and the maximum cost of the comparison.

use inferometer_analysis::ab::{Ab, Block};
use inferometer_model::change::Change;
use inferometer_model::digits::significant;
use inferometer_plan::Plan;
use inferometer_plan::ab::AbPlan;

use crate::estimate::{about, in_words};
use crate::event::PairEnded;

/// The state after the last pair: the deciding figure on both sides, and the estimate so far.
pub fn pair(plan: &AbPlan, comparison: &Ab<'_>, blocks: [&Block; 2]) -> PairEnded {
    let name = plan.figures.first().map(|figure| figure.name()).unwrap_or_default();
    let [a, b] = blocks.map(|block| {
        let value = block.values.first().copied().flatten();
        value.map_or_else(|| "no value".to_owned(), |value| significant(value, 4))
    });
    let so_far = comparison.known().map_or_else(String::new, |known| {
        let change = Change(known.mean.exp());
        let ends = known.ends().map_or_else(
            || "no interval yet".to_owned(),
            |ends| change.interval(ends.map(f64::exp), 1),
        );
        format!("B {} ({ends})", change.signed(1))
    });
    PairEnded { number: comparison.pairs(), figures: format!("{name} {a} (A) and {b} (B)"), so_far }
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
