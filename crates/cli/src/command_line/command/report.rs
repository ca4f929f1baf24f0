//! `report`: its flags, and the output after writing the reports.

use std::path::PathBuf;

use crate::command_line::{Failure, print, screen, tell};
use crate::compare::{GatedComparison, judgement};
use crate::price;
use crate::report::{Report, by_other_tool};
use clap::{Args, ValueEnum, builder::PossibleValuesParser};
use inferometer_analysis::Summary;
use inferometer_formats::dialect::Tool;
use inferometer_plan::spec::PriceKeys;
use inferometer_predict::tables;
use inferometer_report::plot::{Form, Theme};
use inferometer_report::{PlotFiles, ab, json, terminal};
use inferometer_run::{AB, AnsweredAgain, answered_again, results::outputs, write_ab};
use inferometer_store::{Store, StoreError};

use super::ab::text as ab_text;

/// The flags of `report`.
#[derive(Args)]
pub struct ReportArgs {
    /// A run: its name, a part of the name, a tag, or `latest`; or the name of an `ab` comparison.
    /// With several runs, one table is written for each, and the plots show all of them
    #[arg(value_name = "RUN", default_value = "latest")]
    runs: Vec<String>,
    /// The database
    #[arg(long, value_name = "FILE", default_value = "inferometer.db")]
    store: PathBuf,
    /// Folder for reports and plots [default: inferometer-out/RUN; for several runs,
    /// inferometer-out/comparison]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Colours of the plot files; the page itself follows the browser's setting
    #[arg(long, value_name = "THEME", value_enum, default_value_t = Colours::Light)]
    theme: Colours,
    /// Form of the plot files
    #[arg(long, value_name = "FORM", value_parser = forms(), default_value = Form::Png.name())]
    plots: String,
    /// For each pass, print the table that another tool would have printed, by that tool's
    /// definitions (`inferometer list metrics`); write no file. v0.2 is the output of
    /// benchmark_serving.py of vLLM 0.2
    #[arg(long, value_name = "TOOL", value_parser = tools(), conflicts_with_all = ["out", "theme", "plots"])]
    dialect: Option<String>,
    /// Also report percentiles of TTFT and E2E over all planned requests, in which each failed
    /// request counts as infinity
    #[arg(long, conflicts_with = "dialect")]
    failures_as_inf: bool,
    #[command(flatten)]
    price: PriceKeys,
    /// Print one JSON document on stdout, and nothing else; for one run only
    #[arg(long)]
    json: bool,
}

/// The colours of plots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Colours {
    /// Dark text on a white background.
    Light,
    /// Light text on a dark background.
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

impl ReportArgs {
    fn plots(&self) -> PlotFiles {
        let form = Form::named(&self.plots).unwrap_or_default();
        PlotFiles { form, theme: self.theme.into() }
    }
}

fn forms() -> PossibleValuesParser {
    Form::ALL.map(Form::name).into()
}

fn tools() -> PossibleValuesParser {
    Tool::ALL.map(|tool| tool.name).into()
}

fn warn(error: &StoreError) {
    tell(&format!("warning: {error}"));
}

/// Writes the reports of stored runs again, computed from their logs.
pub fn report(arguments: &ReportArgs) -> Result<(), Failure> {
    let store = Store::open_existing(&arguments.store).map_err(Failure::usage)?;
    if let Some(tool) = arguments.dialect.as_deref().and_then(Tool::named) {
        return dialect(arguments, &store, tool);
    }
    if let [name] = arguments.runs.as_slice()
        && name.starts_with(AB)
    {
        return of_ab(arguments, &store, name);
    }
    let price = price::given(&arguments.price)?;
    let mut made = Vec::new();
    for name in &arguments.runs {
        let run = store.run(name).map_err(Failure::usage)?;
        let report = Report::with(&run, arguments.failures_as_inf, &price)?;
        report.cut.iter().for_each(warn);
        made.push(report);
    }
    if let [report] = made.as_slice() {
        return one(arguments, report);
    }
    if arguments.json {
        return Err(Failure::usage("--json: prints one run; give exactly one run"));
    }
    let summaries: Vec<Summary> = made.into_iter().map(|report| report.summary).collect();
    let folder =
        outputs::write_comparison(arguments.out.as_deref(), &summaries, arguments.plots())?;
    let text = terminal::text(&summaries, screen());
    print(&format!(
        "{text}\ntables: {}/table.md{}\n",
        folder.display(),
        arguments.plots().place(&folder)
    ))
}

/// Computes the result of an `ab` comparison again from the logs of its runs. Prints and writes the result, and states
/// whether the gate is met.
fn of_ab(arguments: &ReportArgs, store: &Store, name: &str) -> Result<(), Failure> {
    if arguments.price != PriceKeys::default() {
        return Err(Failure::usage(format!(
            "--price: applies to single runs; `inferometer runs` lists the runs of {name}"
        )));
    }
    if arguments.failures_as_inf {
        return Err(Failure::usage(format!(
            "--failures-as-inf: applies to single runs; `inferometer runs` lists the runs of {name}"
        )));
    }
    let AnsweredAgain { document, place, cut } = answered_again(store, name)?;
    cut.iter().for_each(|why| tell(&format!("warning: {why}")));
    let folder = write_ab(arguments.out.as_deref(), &document, arguments.plots())?;
    match arguments.json {
        true => print(&ab::json(&document))?,
        false => print(&ab_text(&document, &folder, &arguments.plots().place(&folder)))?,
    }
    let comparison = document.ab.comparison((place.0, &place.1));
    let judged = [GatedComparison { comparison, gate: document.gate, runs: Default::default() }];
    judgement(&judged, false).iter().for_each(|judged| tell(&judged.to_string()));
    Ok(())
}

fn one(arguments: &ReportArgs, report: &Report) -> Result<(), Failure> {
    let folder = report.write(arguments.out.as_deref(), arguments.plots())?;
    let summary = &report.summary;
    if arguments.json {
        return print(&json::summary(summary));
    }
    let text = terminal::text(std::slice::from_ref(summary), screen());
    let (beside, file) = match report.has_intervals() {
        true => {
            let file = format!(", {}/prediction.md", folder.display());
            (tables::terminal(summary) + "\n", file)
        }
        false => Default::default(),
    };
    print(&format!(
        "{text}\n{beside}report: {0}/report.html, {0}/report.md{file}\n",
        folder.display()
    ))
}

/// Prints the table that another tool would have printed for the same records.
fn dialect(arguments: &ReportArgs, store: &Store, tool: Tool) -> Result<(), Failure> {
    let mut text = String::new();
    let mut runs = Vec::new();
    for name in &arguments.runs {
        let printed = by_other_tool(&store.run(name).map_err(Failure::usage)?, tool, warn)?;
        text += &printed.text;
        runs.push(printed.document);
    }
    match (arguments.json, runs.as_slice()) {
        (false, _) => print(&text),
        (true, [run]) => print(&format!("{run:#}\n")),
        (true, _) => Err(Failure::usage("--json: prints one run; give exactly one run")),
    }
}
