//! Objectives judged on the passes of a run.

use inferometer_load::PassKind;
use inferometer_metrics::slo::{JudgedMetric, Objective, Statistic};

use crate::cell::Cell;
use crate::pass::PassSummary;
use crate::verdict::SloResult;

/// Judges each objective on each pass of each cell that it speaks of.
///
/// An objective on throughput speaks of the passes that load the server, and of a one_by_one
/// pass only where the cell has no other; all others speak of every pass. Nothing to measure is
/// not met.
pub fn judge(objectives: &[Objective], cells: &[Cell]) -> Vec<SloResult> {
    let mut results = Vec::new();
    for objective in objectives {
        for cell in cells {
            let loaded = cell.passes.iter().any(|pass| pass.kind != PassKind::OneByOne);
            for pass in &cell.passes {
                if speaks_of(objective.metric, pass, loaded) {
                    results.push(judge_pass(objective, cell, pass));
                }
            }
        }
    }
    results
}

fn judge_pass(objective: &Objective, cell: &Cell, pass: &PassSummary) -> SloResult {
    let measured = measure(objective.metric, objective.statistic, pass);
    SloResult {
        objective: objective.text.clone(),
        place: cell.place(pass),
        measured: measured.map(|value| value / objective.unit.in_metric_units()),
        met: measured.is_some_and(|value| objective.comparison.holds(value, objective.limit)),
    }
}

/// What was measured of a pass, in the metric's unit.
pub(crate) fn measure(
    metric: JudgedMetric,
    statistic: Option<Statistic>,
    pass: &PassSummary,
) -> Option<f64> {
    match metric.is_distribution() {
        true => statistic?.of(pass.latency(metric.definition())?),
        false => pass.figure(metric.definition()),
    }
}

/// Whether a metric speaks of how much a pass brings, which one by one says nothing of where
/// there is a pass that loads the server.
pub(crate) fn speaks_of(metric: JudgedMetric, pass: &PassSummary, cell_is_loaded: bool) -> bool {
    !(cell_is_loaded && metric.is_throughput() && pass.kind == PassKind::OneByOne)
}

#[cfg(test)]
mod tests;
