//! `runs`: lists the stored runs, filtered.

use std::{fmt::Write, path::PathBuf};

use clap::{Args, builder::PossibleValuesParser};
use inferometer_model::calendar::beginning;
use inferometer_report::{Table, left, right};
use inferometer_store::{LoadsRow, RunFilter, RunKind, RunRow, RunState, Store};
use serde_json::{Value, json};

use crate::command_line::{Failure, print, screen, tell};
use crate::stored::row_json;

/// The flags of `runs`.
#[derive(Args)]
pub struct RunsArgs {
    /// Only runs whose model name contains this text, in upper or lower case
    #[arg(long, value_name = "TEXT")]
    model: Option<String>,
    /// Only runs whose engine and version contain this text, such as 'vllm 0.2', in upper or lower
    /// case
    #[arg(long, value_name = "TEXT")]
    engine: Option<String>,
    /// Only runs whose card name contains this text, in upper or lower case
    #[arg(long, value_name = "TEXT")]
    card: Option<String>,
    /// Only runs with this tag; with several --tag, only runs that have all of them
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// Only runs that began at this time or later: a date, or date and time such as
    /// 2026-11-20T05:12, in UTC
    #[arg(long, value_name = "DATE", value_parser = instant)]
    since: Option<String>,
    /// Only runs that began at this time or earlier; a date includes its whole day
    #[arg(long, value_name = "DATE", value_parser = instant)]
    until: Option<String>,
    /// Only runs in this state. `running`: the run is in progress. `complete`: everything in the
    /// plan was measured, also if requests failed. `interrupted`: the run was stopped before its
    /// end. `failed`: the run could not be carried out, or a cell has no complete result. `killed`:
    /// the process ended before it could store a final state. To find runs with failed requests,
    /// read the column Result, or `failed` with --json
    #[arg(long, value_parser = PossibleValuesParser::new(RunState::ALL.map(RunState::name)))]
    state: Option<String>,
    /// Only runs of this kind: results were measured, predicted, or imported from elsewhere
    #[arg(long, value_parser = PossibleValuesParser::new(RunKind::ALL.map(RunKind::name)))]
    kind: Option<String>,
    /// Only the last N runs
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// The database
    #[arg(long, value_name = "FILE", default_value = "inferometer.db")]
    store: PathBuf,
    /// Print one JSON document on stdout, and nothing else
    #[arg(long)]
    json: bool,
}

/// Lists the stored runs, the oldest first.
pub fn runs(arguments: &RunsArgs) -> Result<(), Failure> {
    let store = Store::open_existing(&arguments.store).map_err(Failure::usage)?;
    let filter = arguments.filter();
    if let Some((since, until)) = filter.contradiction() {
        return Err(Failure::usage(format!(
            "--since {since} is after --until {until}: no run can match"
        )));
    }
    let rows = store.runs_that_fit(&filter).map_err(Failure::run_failed)?;
    if arguments.json {
        let runs: Vec<Value> = rows.iter().map(row_json).collect();
        return print(&format!("{:#}\n", json!({ "schema": "inferometer.runs/1", "runs": runs })));
    }
    if rows.is_empty() {
        let is_all = filter == RunFilter::default();
        tell(if is_all { "the store has no runs" } else { "no run matches" });
        return Ok(());
    }
    print(&table(&rows).to_text(18, screen().columns, 1))
}

impl RunsArgs {
    fn filter(&self) -> RunFilter {
        RunFilter {
            model: self.model.clone(),
            engine: self.engine.clone(),
            card: self.card.clone(),
            tags: self.tag.clone(),
            since: self.since.clone(),
            until: self.until.clone(),
            state: self.state.as_deref().and_then(RunState::named),
            kind: self.kind.as_deref().and_then(RunKind::named),
            words: Vec::new(),
            limit: self.limit,
        }
    }
}

/// Checks a date, optionally with a time of day. Returns it in the form in which stored times begin: with a `T` before
/// the time of day, and without a `Z` at the end.
fn instant(text: &str) -> Result<String, String> {
    beginning(text).ok_or_else(|| {
        "is neither a date such as 2026-11-20 nor a time such as 2026-11-20T05:12, in UTC"
            .to_owned()
    })
}

/// A table with one row for each run. The columns of TTFT and TPOT show the range of their medians over the passes of
/// the run.
fn table(rows: &[RunRow]) -> Table {
    Table::of(rows.iter().map(|run| {
        let result = run.validity.as_deref().filter(|_| run.state == RunState::Complete);
        let speed = run.grid.and_then(|grid| grid.output_tokens_per_s);
        let of_passes = |figure: fn(&LoadsRow) -> Option<[f64; 2]>| {
            run.loads.as_ref().and_then(figure).map_or_else(|| "-".to_owned(), span)
        };
        let missing = run.missing.as_ref().map(|missing| format!("  ({missing})"));
        let failures = run.failures().map(|failures| format!(", {failures}"));
        let result = result.unwrap_or(run.state.name()).to_owned();
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        [
            left("Run", run.id.to_string()),
            left("Result", result + &failures.unwrap_or_default()),
            left("Figures", run.kind.name()),
            left("Input x output", or_none(run.grid.map(|grid| grid.to_string()))),
            left("Load", or_none(run.loads.map(|loads| loads.to_string()))),
            right("Output tokens/s", or_none(speed.map(|most| format!("{most:.1}")))),
            right("TTFT p50 (ms)", of_passes(|loads| loads.ttft_p50_ms)),
            right("TPOT p50 (ms)", of_passes(|loads| loads.tpot_p50_ms)),
            left("Model, engine, card", what(run) + &missing.unwrap_or_default()),
            left("Tags", run.tags.join(" ")),
        ]
    }))
}

/// A range as text: minimum and maximum, or one number if both are equal after rounding.
fn span([least, most]: [f64; 2]) -> String {
    let (least, most) = (format!("{least:.1}"), format!("{most:.1}"));
    if least == most { least } else { format!("{least}..{most}") }
}

/// The model, engine, version and card of a run as text. For an imported run, also the file. The text also marks
/// simulations and imported predictions.
pub fn what(run: &RunRow) -> String {
    let mut text = format!("{} on {}", run.model, run.engine_name());
    if let Some(version) = &run.engine_version {
        let _ = write!(text, " {version}");
    }
    if let Some(card) = &run.card {
        let _ = write!(text, ", {card}");
    }
    if let Some(file) = &run.imported_from {
        let place = [std::slice::from_ref(file), &run.imported_section].concat();
        let _ = write!(text, " (imported from {})", place.join(" / "));
    }
    // The kind `predicted` marks predictions of this program. An imported prediction has the kind `imported`, so mark
    // it here.
    match (run.predicted, run.imported_from.is_some()) {
        (true, true) => text += " (prediction)",
        (false, _) if run.simulated => text += " (simulation)",
        _ => {}
    }
    text
}
