//! Resumes a run that ended before its plan was complete: its completed passes (in a search or a sweep: trials) are
//! copied, record by record, and the rest is measured. The earlier run is never changed.

mod group;
mod sent;

pub use group::{EarlierAttempt, EarlierGroup, GROUP};
pub(crate) use sent::{SentPass, sent_before};

use std::path::Path;

use inferometer_model::{Detail, Record, target::Origin};
use inferometer_plan::{Plan, spec::Spec};
use inferometer_store::{Ending, LoggedPass, RunState, Store, StoredRun};
use serde_json::{Map, Value};

use crate::{ResumedCell, RunError, recording::resumed_cell::stored_ending};

/// A run that is resumed.
pub struct EarlierRun {
    /// The plan of the run, by the keys of a plan file, including its seed and its salt.
    pub keys: Map<String, Value>,
    /// The origin of the new run: which of several servers the earlier run measured, and the id of the earlier run.
    pub origin: Origin,
    stored: StoredRun,
}

impl EarlierRun {
    /// Finds a run that can be resumed.
    ///
    /// # Errors
    /// When the store cannot be read or no run has this name, when the run is complete or a prediction, or when its
    /// plan was written by an incompatible version of this program.
    pub fn find(store: &Path, name: &str) -> Result<Self, RunError> {
        let problem = |what: String| RunError::plan(format!("--resume: {what}"));
        let store = Store::open_existing(store).map_err(|error| problem(error.to_string()))?;
        let stored = store.run(name).map_err(|error| problem(error.to_string()))?;
        let run = stored.row.id.to_string();
        if stored.row.state == RunState::Complete {
            return Err(problem(format!("run {run} is complete; nothing is left to measure")));
        }
        if stored.row.predicted {
            return Err(problem(format!("run {run} is a prediction; predict again instead")));
        }
        let plan = Plan::from_json(&stored.plan_json).map_err(|error| {
            problem(format!(
                "run {run}: its plan was written by an incompatible version of this \
                program: {error}"
            ))
        })?;
        let asked = Spec {
            seed: Some(plan.seed),
            salt: stored.environment.salt.clone(),
            // A run of a group has a folder within the folder of the group.
            out: plan.spec.out.clone().filter(|_| stored.target.facts.origin.group.is_none()),
            ..(*plan.spec).clone()
        };
        let mut keys = asked.keys();
        keys.retain(|_, value| !value.is_null());
        let Origin { group, variant, round, .. } = stored.target.facts.origin.clone();
        let resumes = Some(run);
        let origin = Origin { group, variant, round, resumes, ..Origin::default() };
        Ok(Self { origin, keys, stored })
    }

    /// The completely measured passes of the run, by cell. Such a pass ran to its end, with no more failures than the
    /// plan allows.
    ///
    /// # Errors
    /// When the plan differs from the plan of the run, or the run's log cannot be read.
    pub fn completed_passes(&self, plan: &Plan) -> Result<Vec<ResumedCell>, RunError> {
        completed_passes(&self.stored, plan)
    }
}

/// The completed passes of a stored run.
fn completed_passes(stored: &StoredRun, plan: &Plan) -> Result<Vec<ResumedCell>, RunError> {
    check_plan(stored, plan)?;
    let mut cells: Vec<ResumedCell> = Vec::new();
    for pass in stored.passes()? {
        let pass = pass?;
        let cell = pass.begin.cell;
        let is_whole = pass.end.is_some_and(|end| end.ending == Ending::Complete);
        if is_whole && is_usable(&pass, plan) {
            match cells.iter_mut().find(|known| known.cell == cell) {
                Some(known) => known.passes.push(pass),
                None => {
                    let ending =
                        stored.summary.as_ref().and_then(|before| stored_ending(before, cell));
                    cells.push(ResumedCell { cell, passes: vec![pass], ending });
                }
            }
        }
    }
    Ok(cells)
}

/// Whether all passes of a plan are completed, at least as often as the plan repeats them.
fn are_all(plan: &Plan, cells: &[ResumedCell]) -> bool {
    let wanted = plan.passes.len() * plan.repeat.at_least as usize;
    cells.len() == plan.cells.len() && cells.iter().all(|cell| cell.passes.len() >= wanted)
}

/// Whether a pass has results, and no more requests failed than the plan allows. In a search or a sweep,
/// every trial is usable.
fn is_usable(pass: &LoggedPass, plan: &Plan) -> bool {
    // A trial may show that the server refuses requests, so its outcomes never exclude it.
    if plan.procedure.chooses_loads() {
        return true;
    }
    let all = pass.records.len();
    let complete = pass.records.iter().filter(|record| record.outcome.is_complete()).count();
    // If the plan ended the pass early, the requests that it cancelled or skipped are not failures.
    let was_stopped = |record: &&Record| matches!(record.detail, Some(Detail::Stopped(_)));
    let stopped = pass.records.iter().filter(was_stopped).count();
    // A pass without a completed request has no result. So it is measured again, even if the plan allows all requests
    // to fail.
    let waited_for = all - stopped;
    complete > 0 && (waited_for - complete) as f64 <= plan.max_failures * waited_for as f64
}

/// Checks that a stored run has this plan.
fn check_plan(stored: &StoredRun, plan: &Plan) -> Result<(), RunError> {
    if plan.hash() == stored.plan_hash {
        return Ok(());
    }
    Err(RunError::plan(format!(
        "--resume: this plan differs from that of run {}; leave out the flags that change it",
        stored.row.id
    )))
}

#[cfg(test)]
mod tests {
    use inferometer_model::outcome::Outcome;
    use inferometer_model::record::Record;
    use inferometer_model::sample::Observed;
    use inferometer_store::PassBegin;

    use super::*;

    #[test]
    fn a_pass_without_a_completed_request_is_measured_again_for_any_max_failures() {
        for (complete, failed, max_failures, good) in [
            (0, 4, 1.0, false),
            (1, 3, 1.0, true),
            (4, 0, 0.0, true),
            (3, 1, 0.0, false),
            (3, 1, 0.25, true),
        ] {
            let spec = serde_json::json!({
                "target": "http://127.0.0.1:8000", "model": "m", "input_lengths": [8],
                "output_lengths": [8], "saturated": 4, "max_failures": max_failures,
            });
            let spec: Spec = serde_json::from_value(spec).unwrap();
            let known = inferometer_plan::spec::Known {
                dialects: &[],
                models: &[],
                model_of_hub_id: |_| None,
            };
            let plan = spec.resolve(&known).unwrap();
            let begin =
                PassBegin { pass: 0, cell: plan.cells[0], plan: plan.passes[0].clone(), repeat: 1 };
            let of = |outcome, count| {
                let planned = Record::planned(0, 0, inferometer_model::time::Nanos::ZERO);
                std::iter::repeat_n(Record { outcome, ..planned }, count)
            };
            let rejected = Outcome::Rejected { status: 503 };
            let records = of(Outcome::Complete, complete).chain(of(rejected, failed)).collect();
            let observed = Observed::default();
            let pass = LoggedPass { begin, records, observed, end: None };
            assert_eq!(is_usable(&pass, &plan), good, "{complete} and {failed}, {max_failures}");
        }
    }
}
