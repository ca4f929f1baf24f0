//! The state of a comparison of two servers after a pair of blocks.

use inferometer_analysis::ab::{Ab, Block};
use inferometer_model::{Change, digits::significant};
use inferometer_plan::ab::AbPlan;
use serde::Serialize;

/// The state of a comparison after a pair of blocks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PairEnded {
    /// The number of the pair, from 1.
    pub number: u32,
    /// The name of the deciding figure, such as `output_tokens_per_s`.
    pub figure: String,
    /// The value of the deciding figure on both sides, A first; absent if a block has no value.
    pub values: [Option<f64>; 2],
    /// The estimate so far; absent if there is none.
    pub so_far: Option<ShareSoFar>,
}

/// The deciding figure of side B divided by that of side A, over all pairs so far.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ShareSoFar {
    /// The estimate: 1.05 if B is 5 % higher.
    pub ratio: f64,
    /// The ends of its interval; absent if there are too few pairs.
    pub interval: Option<[f64; 2]>,
}

impl PairEnded {
    /// The state after the last pair, whose blocks are `blocks`.
    pub fn new(plan: &AbPlan, comparison: &Ab<'_>, blocks: [&Block; 2]) -> Self {
        Self {
            number: comparison.pairs(),
            figure: plan.figures.first().map(|figure| figure.name()).unwrap_or_default(),
            values: blocks.map(|block| block.values.first().copied().flatten()),
            so_far: comparison.known().map(|known| ShareSoFar {
                ratio: known.mean.exp(),
                interval: known.ends().map(|ends| ends.map(f64::exp)),
            }),
        }
    }

    /// The line for people: the figure on both sides, and the estimate so far.
    pub fn line(&self) -> String {
        let value = |value: Option<f64>| {
            value.map_or_else(|| "no value".to_owned(), |value| significant(value, 4))
        };
        let [a, b] = self.values.map(value);
        format!("  pair {}: {} {a} (A) and {b} (B){}", self.number, self.figure, self.so_far())
    }

    /// The estimate so far, as the end of a line: `; so far: B -2.6 % (-5.1 to +0.2 %)`. Empty if there is none.
    pub fn so_far(&self) -> String {
        let Some(ShareSoFar { ratio, interval }) = self.so_far else { return String::new() };
        let change = Change(ratio);
        let interval =
            interval.map_or_else(|| "no interval yet".to_owned(), |ends| change.interval(ends, 1));
        format!("; so far: B {} ({interval})", change.signed(1))
    }
}
