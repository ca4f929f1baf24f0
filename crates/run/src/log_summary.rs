//! The results of a stored run, made again from nothing but its records.

use inferometer_analysis::prediction_error::error_summaries;
use inferometer_analysis::summary::Summary;
use inferometer_model::finding::{Finding, code};
use inferometer_plan::Plan;
use inferometer_store::{Entry, LogReader, StoreError, StoredRun};

use crate::grid::Grid;
use crate::pass_figures::PassFigures;
use crate::summarise::{RunFacts, summarise};

/// Results that were made again.
pub struct FromLog {
    /// The results.
    pub summary: Summary,
    /// Where the log was cut, if it was: the results are those of what stands before.
    pub cut: Option<StoreError>,
}

/// The results of a run from the records in its log; `see` is shown every entry of it.
///
/// # Errors
/// When the log cannot be read.
pub fn summarise_log(
    stored: &StoredRun,
    plan: &Plan,
    mut see: impl FnMut(&Entry),
) -> Result<FromLog, StoreError> {
    let log = LogReader::open(&stored.log)?;
    let origin_unix_ns = log.header().origin_unix_ns;
    let mut grid = Grid::default();
    let mut findings: Vec<Finding> = Vec::new();
    let mut current = None;
    let mut cut = None;
    let mut close = |current: &mut Option<_>, process| {
        if let Some((cell, figures)) = current.take() {
            let result = PassFigures::finish(figures, process);
            findings.extend(result.findings.iter().cloned());
            grid.add(cell, result);
        }
    };
    for entry in log {
        if let Ok(entry) = &entry {
            see(entry);
        }
        match entry {
            Ok(Entry::PassBegin(begin)) => {
                close(&mut current, None);
                current = Some((begin.cell, PassFigures::new(plan, &begin, 0, origin_unix_ns)));
            }
            Ok(Entry::Record(record)) => {
                if let Some((_, figures)) = &mut current {
                    figures.add(&record);
                }
            }
            Ok(Entry::Observed(observed)) => {
                if let Some((_, figures)) = &mut current {
                    figures.observe(*observed);
                }
            }
            Ok(Entry::PassEnd(end)) => close(&mut current, end.process),
            Ok(Entry::RunEnd(_)) => close(&mut current, None),
            Err(error) if error.is_cut() => {
                cut = Some(error);
                break;
            }
            Err(error) => return Err(error),
        }
    }
    close(&mut current, None);
    Ok(FromLog { summary: of_stored(stored, plan, &grid, findings), cut })
}

/// The document of a stored run. Findings that no record shows (the server's answers before the run,
/// the data set) and the hashes are those of the run itself, if it lived to write them.
fn of_stored(stored: &StoredRun, plan: &Plan, grid: &Grid, findings: Vec<Finding>) -> Summary {
    let before = stored.summary.as_ref();
    let hash = |of: fn(&Summary) -> &String| {
        before.map_or_else(|| "unknown: the run did not end".to_owned(), |done| of(done).clone())
    };
    let facts = RunFacts {
        run_id: stored.row.id.to_string(),
        started_at: stored.row.started_at.clone(),
        plan,
        target: &stored.target,
        environment: &stored.environment,
        tool_version: &stored.tool_version,
        predicted: stored.row.predicted,
        workload_hash: hash(|done| &done.workload_hash),
        body_hash: hash(|done| &done.body_hash),
    };
    let findings = before.map_or_else(
        || {
            let message = "the run ended without saying how: it was killed, or goes on".to_owned();
            let incomplete = Finding::of(code::RUN_INCOMPLETE, message);
            [findings, vec![incomplete]].concat()
        },
        |done| done.findings.clone(),
    );
    let mut summary = summarise(facts, grid, findings);
    if let Some(before) = before {
        keep_prediction(&mut summary, before);
    }
    summary
}

/// What a prediction states beside its figures follows from the engine's model and from what it was
/// compared with, and not from records: it is that of the run itself.
fn keep_prediction(summary: &mut Summary, before: &Summary) {
    for cell in &mut summary.cells {
        let known = before.cells.iter().find(|known| known.plan() == cell.plan());
        if let Some(known) = known {
            cell.prediction = known.prediction.clone();
        }
    }
    summary.errors = error_summaries(&summary.cells);
}
