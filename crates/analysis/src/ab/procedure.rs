//! The procedure of a comparison: decides whether another pair is measured. The comparison ends when the answer is
//! known or a limit is reached.

use std::time::Duration;

use inferometer_model::Nanos;
use inferometer_plan::ab::AbPlan;

use super::block::Block;
use super::decision::{AbDecision, AbEnding, decision, difference, has_open_condition};
use super::order::{Side, order};
use super::sequence::{FEWEST_PAIRS, LEVEL, MeanEstimate, estimate};
use crate::compare::Condition;

/// The next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// Measure one block on each server, in this order.
    Pair {
        /// The number of the pair, from 1.
        number: u32,
        /// The server of the first and of the second block.
        order: [Side; 2],
    },
    /// The comparison ends, for this reason.
    Ends(AbEnding),
}

/// A comparison in progress.
pub struct Ab<'a> {
    plan: &'a AbPlan,
    seed: u64,
    salt: &'a str,
    pairs: u32,
    /// The number of requests in one block.
    of_block: u64,
    most_pairs: u32,
    requests: u64,
    /// When the first block began, and when the last block ended.
    span: Option<[Nanos; 2]>,
    /// For each pair that has the figure that decides: the logarithm of its ratio B / A.
    differences: Vec<f64>,
    /// How many of the last pairs in a row lack the figure that decides.
    without: usize,
    /// Conditions on the differences. The comparison continues until those on the figure that decides are met or
    /// missed.
    gate: &'a [Condition],
}

impl<'a> Ab<'a> {
    /// A comparison that has not begun. `of_block` is the number of requests in one block. `most_pairs` is the largest
    /// number of pairs; the limits of the plan apply too. The seed and the salt determine which side comes first in
    /// each pair.
    pub fn new(
        plan: &'a AbPlan,
        of_block: u64,
        most_pairs: u32,
        (seed, salt): (u64, &'a str),
    ) -> Self {
        let differences = Vec::new();
        Self {
            plan,
            seed,
            salt,
            pairs: 0,
            of_block,
            most_pairs,
            requests: 0,
            span: None,
            differences,
            without: 0,
            gate: &[],
        }
    }

    /// Continues the comparison until the conditions on the figure that decides are met or missed, even if the answer
    /// is known earlier.
    #[must_use]
    pub fn with_gate(self, gate: &'a [Condition]) -> Self {
        Self { gate, ..self }
    }

    /// The next pair to measure, or the end of the comparison.
    pub fn next(&self) -> NextStep {
        let differences = self.differences.as_slice();
        if decision(self.plan, differences) != AbDecision::Undecided
            && !has_open_condition(self.gate, self.plan, differences)
        {
            return NextStep::Ends(AbEnding::Known);
        }
        if self.without >= FEWEST_PAIRS {
            return NextStep::Ends(AbEnding::NoFigure);
        }
        let is_over = self.requests + 2 * self.of_block > self.plan.max_requests;
        if is_over || self.pairs >= self.most_pairs {
            return NextStep::Ends(AbEnding::MaxRequests);
        }
        let taken = self.span.map_or(Duration::ZERO, |[began, ended]| ended.since(began));
        if self.plan.max_time.is_some_and(|most| taken >= most) {
            return NextStep::Ends(AbEnding::MaxTime);
        }
        let number = self.pairs + 1;
        NextStep::Pair { number, order: order(self.seed, self.salt, number) }
    }

    /// Adds a pair: the block of A and the block of B.
    pub fn add_pair(&mut self, [a, b]: [&Block; 2]) {
        self.pairs += 1;
        self.requests += a.requests + b.requests;
        let [began, ended] = self.span.unwrap_or([a.started, a.ended]);
        self.span = Some([began.min(a.started).min(b.started), ended.max(a.ended).max(b.ended)]);
        let of_pair = difference(a, b, 0);
        self.without = if of_pair.is_some() { 0 } else { self.without + 1 };
        self.differences.extend(of_pair);
    }

    /// The estimate for the figure that decides: the mean of the logarithms of B / A. `None` before the first pair with
    /// the figure.
    pub fn known(&self) -> Option<MeanEstimate> {
        estimate(&self.differences, 1.0 - LEVEL)
    }

    /// The number of pairs so far.
    pub fn pairs(&self) -> u32 {
        self.pairs
    }
}
