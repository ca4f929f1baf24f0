//! Reads stores and the runs in them.

use std::path::{Path, PathBuf};

use inferometer::{PlanError, Store, Strictness, Summary, report::Report, stored::row_json};
use inferometer_model::calendar::beginning;
use inferometer_report::{PlotFiles, json, table as tables, terminal, terminal::Screen};
use inferometer_store::{RunFilter, RunKind, RunState, StoredRun};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{errors::Error, measure::shortfall_of};

/// The conditions for the runs that are listed. An absent condition excludes no run.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Filter {
    model: Option<String>,
    engine: Option<String>,
    card: Option<String>,
    tags: Vec<String>,
    since: Option<String>,
    until: Option<String>,
    state: Option<String>,
    kind: Option<String>,
    limit: Option<usize>,
}

impl Filter {
    fn resolved(self) -> Result<RunFilter, Error> {
        let mut mistakes = Vec::new();
        let mut instant = |key: &str, text: Option<String>| {
            text.and_then(|text| {
                beginning(&text).or_else(|| {
                    mistakes
                        .push(format!("{key}: `{text}` is not a date such as 2026-11-20, in UTC"));
                    None
                })
            })
        };
        let (since, until) = (instant("since", self.since), instant("until", self.until));
        let state = named("state", self.state, RunState::ALL, RunState::name, &mut mistakes);
        let kind = named("kind", self.kind, RunKind::ALL, RunKind::name, &mut mistakes);
        if !mistakes.is_empty() {
            return Err(Error::Plan(mistakes));
        }
        Ok(RunFilter {
            model: self.model,
            engine: self.engine,
            card: self.card,
            tags: self.tags,
            since,
            until,
            state,
            kind,
            words: Vec::new(),
            limit: self.limit,
        })
    }
}

/// The value with this name; `None` if no name was given. An unknown name is added to `mistakes`.
fn named<T: Copy, const N: usize>(
    key: &str,
    given: Option<String>,
    all: [T; N],
    name: fn(T) -> &'static str,
    mistakes: &mut Vec<String>,
) -> Option<T> {
    let given = given?;
    let found = all.into_iter().find(|one| name(*one) == given);
    if found.is_none() {
        let known = all.map(name).join(", ");
        mistakes.push(format!("{key}: `{given}` is unknown; use one of {known}"));
    }
    found
}

/// The runs of a store that match the filter, as a JSON array.
#[pyfunction]
pub fn runs(py: Python<'_>, store: PathBuf, filter: &str) -> PyResult<String> {
    let filter: Filter =
        serde_json::from_str(filter).map_err(|error| Error::from(PlanError::new(error)))?;
    let filter = filter.resolved()?;
    let rows = py.detach(|| -> Result<_, Error> {
        Ok(Store::open_existing(&store)?.runs_that_fit(&filter)?)
    })?;
    Ok(Value::from_iter(rows.iter().map(row_json)).to_string())
}

/// A stored run as a JSON object: its row in the list of runs, its plan, its results, and the reason why the
/// results are not a success (null if they are a success). If the run was killed before its results were written,
/// they are computed from its records.
#[pyfunction]
pub fn run_document(py: Python<'_>, store: PathBuf, name: &str) -> PyResult<String> {
    let document = py.detach(|| {
        let run = stored(&store, name)?;
        let plan: Value = serde_json::from_str(&run.plan_json).unwrap_or(Value::Null);
        let summary = summary_of(&run)?;
        let shortfall = match run.row.state {
            RunState::Interrupted => {
                json!({ "kind": "interrupted", "message": "the run was interrupted" })
            }
            RunState::Running | RunState::Killed | RunState::Failed => {
                let state = run.row.state.name();
                let message = format!("the run is not complete; its state is {state}");
                json!({ "kind": "failed", "message": message })
            }
            RunState::Complete => {
                let most = plan["max_failures"].as_f64();
                // Imported results have no limit of failures.
                let most = most.or_else(|| run.row.imported_from.is_some().then_some(1.0));
                let unknown = || json!({ "kind": "failed", "message": "the plan cannot be read" });
                most.map_or_else(unknown, |most| shortfall_of(&summary, most, Strictness::Lenient))
            }
        };
        let head = json!({ "row": row_json(&run.row), "plan": plan, "shortfall": shortfall });
        let summary = json::summary(&summary);
        Ok::<_, Error>(format!("{{\"stored\":{head},\"summary\":{summary}}}"))
    });
    Ok(document?)
}

/// The tables of a run: as text for a terminal, or as Markdown.
#[pyfunction]
pub fn table(py: Python<'_>, store: PathBuf, name: &str, markdown: bool) -> PyResult<String> {
    let text = py.detach(|| {
        let summary = summary_of(&stored(&store, name)?)?;
        let summaries = std::slice::from_ref(&summary);
        Ok::<_, Error>(match markdown {
            true => tables::markdown(summaries),
            false => terminal::text(summaries, Screen::NONE),
        })
    });
    Ok(text?)
}

/// Writes the report of a run from its records, and returns the report's folder.
#[pyfunction]
#[pyo3(signature = (store, name, out))]
pub fn write_report(
    py: Python<'_>,
    store: PathBuf,
    name: &str,
    out: Option<PathBuf>,
) -> PyResult<PathBuf> {
    let folder = py.detach(|| {
        let report = Report::of(&stored(&store, name)?)?;
        Ok::<_, Error>(report.write(out.as_deref(), PlotFiles::default())?)
    });
    Ok(folder?)
}

/// The run that a name refers to, by the rules of [`Store::find`].
pub fn stored(store: &Path, name: &str) -> Result<StoredRun, Error> {
    let store = Store::open_existing(store)?;
    let id = store.find(name)?;
    Ok(store.run(id.as_str())?)
}

/// The stored results of a run. If none are stored, they are computed from the run's records.
pub fn summary_of(run: &StoredRun) -> Result<Summary, Error> {
    match &run.summary {
        Some(summary) => Ok(summary.clone()),
        None => Ok(Report::of(run)?.summary),
    }
}
