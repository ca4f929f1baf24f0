//! Computes the results of a stored run again, from the records in its log.

use inferometer_analysis::{Summary, ab::Block, prediction_error::error_summaries};
use inferometer_model::{Finding, Timeline, code};
use inferometer_plan::Plan;
use inferometer_report::Traces;
use inferometer_store::{PassItem, StoreError, StoredRun};

use super::grid::Grid;
use super::summarise::{RunFacts, judge_by_ranges, summarise};
use crate::{recording::pass_figures::PassFigures, recording::resumed_cell::stored_ending};

/// Results that were computed again.
pub struct FromLog {
    /// The results.
    pub summary: Summary,
    /// Data for the charts of single requests.
    pub traces: Traces,
    /// The complete blocks of a comparison of two servers.
    pub blocks: Vec<Block>,
    /// Where the log is cut off; `None` if it is complete. The results cover the records before that point.
    pub cut: Option<StoreError>,
}

/// The results of a run from the records in its log.
///
/// # Errors
/// When the log cannot be read.
pub fn summarise_log(stored: &StoredRun, plan: &Plan) -> Result<FromLog, StoreError> {
    let mut passes = stored.passes()?;
    let origin_unix_ns = passes.header().origin_unix_ns;
    let mut grid = Grid::default();
    let mut findings: Vec<Finding> = Vec::new();
    while let Some(pass) = passes.next_pass() {
        let mut pass = pass?;
        let mut figures = PassFigures::new(plan, pass.begin(), 0, origin_unix_ns)
            .of_servers(&stored.target.servers)
            .traced(pass.begin());
        for item in &mut pass {
            match item? {
                PassItem::Record(record) => figures.add(&Timeline::new(&record)),
                PassItem::Observed(observed) => figures.observe(*observed),
            }
        }
        let result = figures.finish(pass.end().and_then(|end| end.process));
        findings.extend(result.findings.iter().cloned());
        grid.add(pass.begin().cell, result);
    }
    for &cell in &plan.cells {
        let ending = stored.summary.as_ref().and_then(|before| stored_ending(before, cell));
        ending.iter().for_each(|ending| grid.trials_have_ended(cell, *ending));
    }
    let summary = of_stored(stored, plan, &grid, (findings, origin_unix_ns));
    Ok(FromLog { summary, traces: grid.traces, blocks: grid.blocks, cut: passes.cut })
}

/// The summary of a stored run. The findings, the hashes and the summaries of ranks are copied from the results that
/// the run itself stored, because records are not enough to compute all of them. For example, some findings need the
/// data set, or the server's answers before the run. If the run was killed before it stored results, only the findings
/// from records are known.
fn of_stored(
    stored: &StoredRun,
    plan: &Plan,
    grid: &Grid,
    (findings, origin_unix_ns): (Vec<Finding>, i64),
) -> Summary {
    let before = stored.summary.as_ref();
    let facts = RunFacts {
        run_id: stored.row.id.to_string(),
        started_at: stored.row.started_at.clone(),
        origin_unix_ns,
        plan,
        target: &stored.target,
        environment: &stored.environment,
        tool_version: &stored.tool_version,
        predicted: stored.row.predicted,
        workload_hash: before.and_then(|done| done.workload_hash.clone()),
        body_hash: before.and_then(|done| done.body_hash.clone()),
        ranks: before.map(|done| done.ranks.clone()).unwrap_or_default(),
    };
    let findings = before.map_or_else(
        || {
            let message =
                "the run has no recorded end: it was killed, or is still in progress".to_owned();
            let incomplete = Finding::of(code::RUN_INCOMPLETE, message);
            [findings, vec![incomplete]].concat()
        },
        |done| done.findings.clone(),
    );
    let mut summary = summarise(facts, grid, findings);
    if let Some(before) = before {
        keep_prediction(&mut summary, before);
        summary.set_price(&plan.spec.price, Some(plan));
        judge_by_ranges(&mut summary, plan);
    }
    summary
}

/// Copies the parts of a prediction that cannot be computed from records. They come from the engine's model, and from
/// the measurements that the prediction was compared with.
fn keep_prediction(summary: &mut Summary, before: &Summary) {
    for cell in &mut summary.cells {
        let known = before.cells.iter().find(|known| known.plan() == cell.plan());
        if let Some(known) = known {
            cell.prediction = known.prediction.clone();
        }
    }
    for answer in &mut summary.searches {
        let known = before.searches.iter().find(|known| known.place() == answer.place());
        answer.set_model(known.and_then(|known| known.model));
    }
    for answer in &mut summary.sweeps {
        let known = before.sweeps.iter().find(|known| known.cell() == answer.cell());
        answer.set_model(known.and_then(|known| known.model));
    }
    summary.errors = error_summaries(&summary.cells);
}
