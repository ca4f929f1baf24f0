//! The commands, one file each.

pub(super) mod bench;
mod bundle;
mod calibrate;
mod check;
mod check_part;
mod compare;
mod completions;
mod dialects;
mod engine;
pub mod engine_flags;
mod export;
mod fetch;
mod findings;
mod import;
mod load_flags;
mod manual;
mod metrics;
mod models;
mod predict;
mod presets;
mod report;
mod reproduce;
mod rm;
mod run;
mod run_flags;
mod runs;
mod scenarios;
mod search;
pub mod settings;
mod show;
mod tag;
mod web;
mod workload_flags;

use clap::Subcommand;

use crate::command_line::exit::Failure;

/// What to do.
#[derive(Subcommand)]
pub enum Command {
    /// Benchmark a server, or the embedded engine when none is given.
    Run(Box<run_flags::RunArgs>),
    /// Measure by the flags of another benchmark: `bench serve` as that of vLLM.
    Bench(bench::BenchArgs),
    /// Predict a grid by the embedded engine in virtual time; nothing is sent.
    Predict(Box<predict::PredictArgs>),
    /// Look for the highest rate or concurrency that meets the objectives, with an interval.
    Search(Box<search::SearchArgs>),
    /// Fit a profile of the embedded engine to measured rows.
    Calibrate(Box<calibrate::CalibrateArgs>),
    /// Serve the embedded engine over HTTP: a calibrated model of a serving engine.
    Engine(Box<engine::EngineArgs>),
    /// Measure this client on this machine against a server of known truth.
    Check(check::CheckArgs),
    /// Make the reports of a stored run again.
    Report(report::ReportArgs),
    /// Compare runs with a baseline, figure by figure; --gate for machines.
    Compare(compare::CompareArgs),
    /// Import published tables, logs and results of other tools into the store.
    Import(import::ImportArgs),
    /// List the stored runs, filtered by model, engine, card, tag, date, state and kind.
    Runs(runs::RunsArgs),
    /// Show one stored run: what it is of, its figures, its plan, its files.
    Show(show::ShowArgs),
    /// Tag a stored run, or take tags away.
    Tag(tag::TagArgs),
    /// Keep a note with a stored run.
    Note(tag::NoteArgs),
    /// Remove stored runs with their records.
    Rm(rm::RmArgs),
    /// Write a stored run as other programs read it: Parquet, CSV, JSON, ...
    Export(export::ExportArgs),
    /// Write a stored run as one file: plan, requests' hashes, server, environment, records.
    Bundle(bundle::BundleArgs),
    /// Measure the run of a bundle again here: is it the same, and if not, what differs.
    Reproduce(Box<reproduce::ReproduceArgs>),
    /// Show the stored runs in a browser, also while they go on.
    Web(web::WebArgs),
    /// Fetch data sets and tokenizers, or list those that there are.
    Fetch(fetch::FetchArgs),
    /// List the scenarios that `run --scenario` plays, with their definitions.
    Scenarios,
    /// List the metrics with their definitions.
    Metrics,
    /// List the findings that a run can have: what each means and what to do.
    Findings(findings::FindingsArgs),
    /// List the dialects that servers can be spoken to in.
    Dialects,
    /// List the presets of servers that a plan can start; with a name, print its file.
    Presets(presets::PresetsArgs),
    /// List the models and profiles of the embedded engine.
    Models,
    /// Print what a shell needs to complete commands and flags.
    Completions(completions::CompletionsArgs),
    /// Write the manual pages into a folder.
    Manual(manual::ManualArgs),
    /// A process of a check.
    #[command(hide = true)]
    CheckPart(check_part::PartArgs),
    /// The process between a run and the server that it started.
    #[command(hide = true)]
    ServerGuard,
}

impl Command {
    /// Whether it looks at the settings: those that measure, and those that read or write a store.
    pub fn has_settings(&self) -> bool {
        !matches!(
            self,
            Self::Engine(_)
                | Self::Check(_)
                | Self::CheckPart(_)
                | Self::ServerGuard
                | Self::Scenarios
                | Self::Metrics
                | Self::Findings(_)
                | Self::Dialects
                | Self::Presets(_)
                | Self::Models
                | Self::Completions(_)
                | Self::Manual(_)
        )
    }

    /// Does it.
    ///
    /// # Errors
    /// As the exit codes say.
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Self::Run(arguments) => run::run(*arguments),
            Self::Bench(arguments) => bench::bench(&arguments),
            Self::Predict(arguments) => predict::predict(&arguments),
            Self::Search(arguments) => search::search(*arguments),
            Self::Calibrate(arguments) => calibrate::calibrate(&arguments),
            Self::Engine(arguments) => engine::engine(*arguments),
            Self::Check(arguments) => check::check(&arguments),
            Self::CheckPart(arguments) => check_part::part(arguments),
            Self::ServerGuard => inferometer_launch::guard::guard().map_err(Failure::run_failed),
            Self::Report(arguments) => report::report(&arguments),
            Self::Compare(arguments) => compare::compare(&arguments),
            Self::Import(arguments) => import::import(&arguments),
            Self::Runs(arguments) => runs::runs(&arguments),
            Self::Show(arguments) => show::show(&arguments),
            Self::Tag(arguments) => tag::tag(&arguments),
            Self::Note(arguments) => tag::note(&arguments),
            Self::Rm(arguments) => rm::rm(&arguments),
            Self::Export(arguments) => export::export(&arguments),
            Self::Bundle(arguments) => bundle::bundle(&arguments),
            Self::Reproduce(arguments) => reproduce::reproduce(&arguments),
            Self::Web(arguments) => web::web(&arguments),
            Self::Fetch(arguments) => fetch::fetch(&arguments),
            Self::Scenarios => scenarios::scenarios(),
            Self::Metrics => metrics::metrics(),
            Self::Findings(arguments) => findings::findings(&arguments),
            Self::Dialects => dialects::dialects(),
            Self::Presets(arguments) => presets::presets(&arguments),
            Self::Models => models::models(),
            Self::Completions(arguments) => completions::completions(&arguments),
            Self::Manual(arguments) => manual::manual(&arguments),
        }
    }
}
