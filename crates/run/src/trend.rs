//! The trend of stored runs: the runs of a store that fit a filter, how they are called, and their figures over time.

use inferometer_analysis::compare::{Subject, Trend, TrendRun};
use inferometer_plan::Plan;
use inferometer_store::{RunFilter, RunKind, RunRow, RunState, Store, StoreError};

/// How runs are called in a trend, other than by a tag `KEY=VALUE`.
const DAY: &str = "day";
const VERSION: &str = "version";
const RUN: &str = "run";
/// The key of the tag that names runs if every run has it and nothing else is requested.
const COMMIT: &str = "commit";

/// The trend of the runs of a store that fit a filter, and why runs were left out.
///
/// `by`: how runs are called: `day`, `version` (of the engine), `run`, or the key of a tag `KEY=VALUE`; by default the tag
/// `commit` if every run has it, otherwise the day. A run without this name is called by its day. `figures`: only these; all
/// if empty. `false_alarms`: the share of years of daily runs with a false alarm, over all figures together.
///
/// # Errors
/// When the store cannot be read.
pub fn trend(
    store: &Store,
    filter: &RunFilter,
    by: Option<&str>,
    figures: &[String],
    false_alarms: f64,
) -> Result<(Trend, Vec<String>), StoreError> {
    let rows = store.runs_that_fit(filter)?;
    let (mut runs, mut left_out) = (Vec::new(), Vec::new());
    for row in rows {
        let id = row.id.to_string();
        if row.kind == RunKind::Predicted {
            left_out.push(format!("{id}: is a prediction"));
            continue;
        }
        let stored = store.run(&id)?;
        let Some(summary) = stored.summary.as_ref() else {
            left_out.push(format!("{id}: has no results"));
            continue;
        };
        let subject = Subject::of_run(id, summary);
        let subject = match Plan::from_json(&stored.plan_json) {
            Ok(plan) => subject.planned_by(&plan),
            Err(_) => subject,
        };
        runs.push((row, subject));
    }
    let has_commit = !runs.is_empty() && runs.iter().all(|(row, _)| tagged(row, COMMIT).is_some());
    let by = by.unwrap_or(if has_commit { COMMIT } else { DAY });
    let called = runs.into_iter().map(|(row, subject)| {
        let label = label(&row, by);
        let ended = Some(row.state).filter(|state| *state != RunState::Complete);
        let warnings = ended.map(|state| format!("is {}", state.name())).into_iter().collect();
        (TrendRun { run: row.id.to_string(), label, started_at: row.started_at, warnings }, subject)
    });
    let called: Vec<(TrendRun, Subject)> = called.collect();
    Ok((Trend::of(&called, figures, false_alarms), left_out))
}

fn tagged<'a>(row: &'a RunRow, key: &str) -> Option<&'a str> {
    row.tags.iter().find_map(|tag| tag.strip_prefix(key)?.strip_prefix('='))
}

fn label(row: &RunRow, by: &str) -> String {
    let day = || row.started_at.get(..10).unwrap_or(&row.started_at).to_owned();
    match by {
        DAY => day(),
        RUN => row.id.to_string(),
        VERSION => row.engine_version.clone().unwrap_or_else(day),
        key => tagged(row, key).map_or_else(day, str::to_owned),
    }
}
