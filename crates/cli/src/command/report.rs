//! `report`: everything made again from the stored records.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use inferometer_analysis::prediction_error::error_summaries;
use inferometer_analysis::summary::Summary;
use inferometer_formats::dialect::Tool;
use inferometer_model::cell::which;
use inferometer_model::finding::{Finding, Severity};
use inferometer_plan::Plan;
use inferometer_report::plot::Theme;
use inferometer_report::trace::Traces;
use inferometer_report::{json, notice_of, terminal};
use inferometer_store::{Entry, LogReader, Store, StoredRun};

use super::predict::{beside_in_terminal, write_beside};
use crate::exit::{Failure, print, tell};
use crate::export::passes::{expect_streams, for_each, seen};
use crate::run::cells::Grid;
use crate::run::outputs::{self, Outputs};
use crate::run::recording::Folded;
use crate::run::session::{Facts, RUN_INCOMPLETE, summarise};
use crate::run::traces::Tracer;

/// The flags of `report`.
#[derive(Args)]
pub struct ReportArgs {
    /// A run: its name, the beginning of it, or `latest`; of several, one table each and plots
    /// with all of them are made
    #[arg(value_name = "RUN", default_value = "latest")]
    runs: Vec<String>,
    /// The database
    #[arg(long, value_name = "FILE", default_value = "inferometer.db")]
    store: PathBuf,
    /// Folder for reports and plots [default: inferometer-out/RUN, inferometer-out/comparison]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The colours of plots as files; the page itself follows its reader
    #[arg(long, value_name = "THEME", value_enum, default_value_t = Colours::Light)]
    theme: Colours,
    /// Print what another tool would have printed of each pass, by its own definitions, and write
    /// no file; `inferometer metrics` has the definitions
    #[arg(long, value_name = "TOOL", value_parser = tools(), conflicts_with_all = ["out", "theme"])]
    dialect: Option<String>,
    /// Print one JSON document on stdout and nothing else there; of one run only
    #[arg(long)]
    json: bool,
}

/// The colours of plots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Colours {
    /// Dark ink on white paper.
    Light,
    /// Light ink on dark paper.
    Dark,
}

impl From<Colours> for Theme {
    fn from(colours: Colours) -> Self {
        match colours {
            Colours::Light => Self::Light,
            Colours::Dark => Self::Dark,
        }
    }
}

fn tools() -> PossibleValuesParser {
    Tool::ALL.map(Tool::name).into()
}

/// Makes the reports of stored runs again, from their logs.
pub fn report(arguments: &ReportArgs) -> Result<(), Failure> {
    let store = Store::open_existing(&arguments.store).map_err(Failure::usage)?;
    if let Some(tool) = arguments.dialect.as_deref().and_then(Tool::named) {
        return dialect(arguments, &store, tool);
    }
    let theme = arguments.theme.into();
    let mut made = Vec::new();
    for name in &arguments.runs {
        let stored = store.run(name).map_err(Failure::usage)?;
        if let Some(summary) = stored.summary.as_ref().filter(|done| done.imported.is_some()) {
            made.push((summary.clone(), None, stored.row.id, Traces::default()));
            continue;
        }
        let plan: Plan = serde_json::from_str(&stored.plan_json).map_err(|error| {
            Failure::not_carried_out(format!(
                "run {}: its plan is of another version of this program: {error}",
                stored.row.id
            ))
        })?;
        let mut tracer = Tracer::new(&plan);
        let summary = fold_again(&stored, &plan, |entry| tracer.take(entry))?;
        made.push((summary, Some(plan), stored.row.id, tracer.finish()));
    }
    if let [(summary, plan, id, traces)] = made.as_slice() {
        let outputs = Outputs::prepare(arguments.out.as_deref())?;
        let folder = match plan {
            Some(plan) => outputs.write_all(summary, plan, id, traces, theme)?,
            None => outputs.write_imported(summary, id, theme)?,
        };
        let is_sure = summary.cells.iter().any(|cell| cell.prediction.interval.is_some());
        if is_sure {
            write_beside(&folder, summary)?;
        }
        if arguments.json {
            return print(&(json::summary(summary) + "\n"));
        }
        let text = terminal::text(std::slice::from_ref(summary), outputs::colour());
        let (beside, file) = match is_sure {
            true => {
                let file = format!(", {}/prediction.md", folder.display());
                (beside_in_terminal(summary) + "\n", file)
            }
            false => Default::default(),
        };
        return print(&format!(
            "{text}\n{beside}report: {0}/report.html, {0}/report.md{file}\n",
            folder.display()
        ));
    }
    if arguments.json {
        return Err(Failure::usage("--json: prints one run; name one"));
    }
    let summaries: Vec<Summary> = made.into_iter().map(|(summary, ..)| summary).collect();
    let folder = outputs::write_comparison(arguments.out.as_deref(), &summaries, theme)?;
    let text = terminal::text(&summaries, outputs::colour());
    print(&format!("{text}\ntables: {0}/table.md; plots: {0}/*.png\n", folder.display()))
}

/// What another tool would have printed of the same records.
fn dialect(arguments: &ReportArgs, store: &Store, tool: Tool) -> Result<(), Failure> {
    let mut text = String::new();
    let mut runs = Vec::new();
    for name in &arguments.runs {
        let run = store.run(name).map_err(Failure::usage)?;
        expect_streams(&run)?;
        let imported = run.summary.as_ref().and_then(|summary| summary.imported.as_ref());
        let notice = notice_of(&run.target, run.row.predicted, imported)
            .map_or_else(String::new, |notice| format!("{notice}\n"));
        let is_search = run.summary.as_ref().is_some_and(|summary| !summary.searches.is_empty());
        let mut passes = Vec::new();
        for_each(&run, |begin, records| {
            let printed = tool.printed(&seen(&run, begin, records));
            let (cell, load) = (begin.cell, begin.plan.load().to_string());
            let nth = which(is_search, begin.repeat);
            let place = format!("{}: {cell}, {load}{nth}", run.row.id);
            let _ = writeln!(text, "{place}\n{notice}{}", printed.text());
            passes.push(serde_json::json!({
                "pass": begin.pass,
                "input_length": cell.input_length,
                "output_length": cell.output_length,
                "load": load,
                "repeat": begin.repeat,
                "figures": printed.json(),
                "left_out": printed.left_out,
            }));
            Ok(())
        })?;
        if passes.is_empty() {
            return Err(Failure::usage(format!(
                "run {} has no records, which other tools' figures are computed from",
                run.row.id
            )));
        }
        runs.push(serde_json::json!({
            "run_id": run.row.id,
            "dialect": tool.name(),
            "simulated": run.target.simulated,
            "predicted": run.row.predicted,
            "imported_from": run.row.imported_from,
            "passes": passes,
        }));
    }
    match (arguments.json, runs.as_slice()) {
        (false, _) => print(&text),
        (true, [run]) => print(&format!("{run:#}\n")),
        (true, _) => Err(Failure::usage("--json: prints one run; name one")),
    }
}

/// The results of a run, from nothing but its records; `see` is shown every entry of its log.
pub(crate) fn fold_again(
    stored: &StoredRun,
    plan: &Plan,
    mut see: impl FnMut(&Entry),
) -> Result<Summary, Failure> {
    let log = LogReader::open(&stored.log).map_err(Failure::not_carried_out)?;
    let origin_unix_ns = log.header().origin_unix_ns;
    let mut grid = Grid::default();
    let mut findings: Vec<Finding> = Vec::new();
    let mut current = None;
    let mut close = |current: &mut Option<_>, process| {
        if let Some((cell, folded)) = current.take() {
            let recorded = Folded::finish(folded, process);
            findings.extend(recorded.findings.iter().cloned());
            grid.add(cell, recorded);
        }
    };
    for entry in log {
        if let Ok(entry) = &entry {
            see(entry);
        }
        match entry {
            Ok(Entry::PassBegin(begin)) => {
                close(&mut current, None);
                current = Some((begin.cell, Folded::new(plan, &begin, 0, origin_unix_ns)));
            }
            Ok(Entry::Record(record)) => {
                if let Some((_, folded)) = &mut current {
                    folded.add(&record);
                }
            }
            Ok(Entry::Observed(said)) => {
                if let Some((_, folded)) = &mut current {
                    folded.observe(*said);
                }
            }
            Ok(Entry::PassEnd(end)) => close(&mut current, end.process),
            Ok(Entry::RunEnd(_)) => close(&mut current, None),
            Err(error) if error.is_cut() => {
                tell(&format!("warning: {error}"));
                break;
            }
            Err(error) => return Err(Failure::not_carried_out(error)),
        }
    }
    close(&mut current, None);
    // Findings that no record shows (the server's answers before the run, the data set) and the
    // identities are those of the run itself, if it lived to write them.
    let before = stored.summary.as_ref();
    let hash = |of: fn(&Summary) -> &String| {
        before.map_or_else(|| "unknown: the run did not end".to_owned(), |done| of(done).clone())
    };
    let facts = Facts {
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
            let incomplete = Finding::new(RUN_INCOMPLETE, Severity::Warning, message);
            [findings, vec![incomplete]].concat()
        },
        |done| done.findings.clone(),
    );
    let mut summary = summarise(facts, &grid, findings);
    if let Some(before) = before {
        keep_prediction(&mut summary, before);
    }
    Ok(summary)
}

/// What a prediction says beside its figures follows from the engine's model and from what it was
/// held against, and not from records: it is that of the run itself.
fn keep_prediction(summary: &mut Summary, before: &Summary) {
    for cell in &mut summary.cells {
        let known = before.cells.iter().find(|known| known.plan() == cell.plan());
        if let Some(known) = known {
            cell.prediction = known.prediction.clone();
        }
    }
    summary.errors = error_summaries(&summary.cells);
}
