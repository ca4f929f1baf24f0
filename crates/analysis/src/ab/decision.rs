//! The decision about two servers, from pairs of blocks. The figure that decides is the first one of
//! [`AbPlan::figures`].

use inferometer_plan::ab::AbPlan;
use serde::{Deserialize, Serialize};

use super::block::Block;
use super::sequence::{FEWEST_PAIRS, FEWEST_PAIRS_WITHOUT_DIFFERENCE, LEVEL, estimate};
use crate::compare::Condition;

/// The decision of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AbDecision {
    /// A is faster, by the figure that decides.
    AFaster,
    /// B is faster, by the figure that decides.
    BFaster,
    /// There is no difference as large as the smallest relevant one.
    NoDifference,
    /// Neither a difference nor its absence is certain.
    Undecided,
}

/// Why a comparison ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AbEnding {
    /// There is a decision, and every condition on the figure that decides is met or missed.
    Known,
    /// Another pair would exceed the limit on requests or the limit on pairs.
    MaxRequests,
    /// The maximum time has passed, or it cut off a block. Pauses between blocks count too.
    MaxTime,
    /// The last [`FEWEST_PAIRS`] pairs all lack the figure that decides.
    NoFigure,
    /// The comparison was interrupted, or it failed.
    Interrupted,
}

/// The logarithm of the ratio B / A of a figure; `None` if one of the blocks lacks the figure.
pub(super) fn difference(a: &Block, b: &Block, figure: usize) -> Option<f64> {
    let of = |block: &Block| block.values.get(figure).copied().flatten();
    Some((of(b)? / of(a)?).ln())
}

/// Whether a condition on the figure that decides is still open. A condition is open if only one end of the confidence
/// interval meets it, if there is no interval yet, or if fewer than [`FEWEST_PAIRS`] pairs have the figure.
pub(super) fn has_open_condition(gate: &[Condition], plan: &AbPlan, differences: &[f64]) -> bool {
    let name = plan.figures.first().map(|figure| figure.name());
    let mut own =
        gate.iter().filter(|condition| Some(&condition.figure) == name.as_ref()).peekable();
    if own.peek().is_none() {
        return false;
    }
    let known = estimate(differences, 1.0 - LEVEL).filter(|_| differences.len() >= FEWEST_PAIRS);
    match known.and_then(|known| known.ends()) {
        Some(ends) => {
            let percent = ends.map(|end| 100.0 * end.exp_m1());
            own.any(|condition| condition.is_open(percent))
        }
        None => true,
    }
}

/// The decision that follows from the differences of the figure that decides.
pub(super) fn decision(plan: &AbPlan, differences: &[f64]) -> AbDecision {
    let known = estimate(differences, 1.0 - LEVEL).filter(|_| differences.len() >= FEWEST_PAIRS);
    let Some([low, high]) = known.and_then(|known| known.ends()) else {
        return AbDecision::Undecided;
    };
    let margin = plan.minimal_effect.ln_1p();
    let is_better = plan.figures.first().is_some_and(|figure| figure.higher_is_better());
    match (low > 0.0, high < 0.0) {
        (true, _) if is_better => AbDecision::BFaster,
        (_, true) if !is_better => AbDecision::BFaster,
        (true, _) | (_, true) => AbDecision::AFaster,
        _ if differences.len() < FEWEST_PAIRS_WITHOUT_DIFFERENCE => AbDecision::Undecided,
        _ if -margin < low && high < margin => AbDecision::NoDifference,
        _ => AbDecision::Undecided,
    }
}
