//! Up to which load a sweep meets an objective.

use inferometer_model::metrics::slo::Objective;

use super::document::{LoadValue, SweepAnswer, WithinAnswer};
use crate::Cell;
use crate::judge::judge_pass;
use crate::verdict::SloResult;

/// Judges an objective at the loads of a sweep, from the lowest on. Of several trials at a load, the last one counts.
/// `None` if no load has a value.
pub(super) fn within(
    objective: &Objective,
    answer: &SweepAnswer,
    cell: &Cell,
) -> Option<WithinAnswer> {
    let loads = answer.levels.iter().filter(|level| level.by == answer.by);
    let judged = loads.filter_map(|level| {
        let mut passes = cell.passes.iter().rev();
        let pass = passes.find(|pass| pass.is_at(level.by, level.load))?;
        Some((level.load, judge_pass(objective, cell, pass)))
    });
    let judged: Vec<(f64, SloResult)> = judged.collect();
    let met = judged.iter().take_while(|(_, result)| result.met).count();
    let of = |at: Option<usize>| {
        let (load, result) = at.and_then(|at| judged.get(at))?;
        Some(LoadValue { load: *load, value: result.measured })
    };
    let is_open = |at: Option<usize>| {
        at.and_then(|at| judged.get(at)).is_some_and(|(_, result)| result.notes().next().is_some())
    };
    let is_measured = judged.iter().any(|(_, result)| result.measured.is_some());
    is_measured.then(|| WithinAnswer {
        objective: objective.text.clone(),
        is_default: false,
        unit: objective.unit.name().to_owned(),
        met: of(met.checked_sub(1)),
        missed: of(Some(met)),
        is_uncertain: is_open(met.checked_sub(1)) || is_open(Some(met)),
    })
}
