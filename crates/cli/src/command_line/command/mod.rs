//! The commands, one file each.

mod ab;
pub mod against;
pub(super) mod bench;
mod budget;
mod bundle;
mod cache;
mod calibrate;
mod check;
mod check_part;
mod check_predictions;
mod compare;
mod completions;
mod engine;
pub mod engine_flags;
mod export;
mod fetch;
mod import;
pub(super) mod list;
mod manual;
mod memory;
mod own_profiles;
mod plan;
mod predict;
mod predict_targets;
mod prediction_of_run;
mod ranks;
mod record;
mod report;
mod reproduce;
mod rm;
mod run;
mod run_flags;
mod runs;
mod search;
pub mod settings;
mod show;
mod simulated_target;
mod sweep;
mod tag;
mod trace;
mod trend;
mod tune;
mod web;

use clap::Subcommand;

use crate::command_line::Failure;

/// What to do.
#[derive(Subcommand)]
pub enum Command {
    /// Benchmark a server; without a server, benchmark the embedded engine (a built-in simulator).
    Run(Box<run_flags::RunArgs>),
    /// Run a benchmark with the flags of another tool: `bench serve` accepts the flags of vLLM.
    Bench(bench::BenchArgs),
    /// Predict results with the embedded engine in virtual time; no server is contacted.
    Predict(Box<predict::PredictArgs>),
    /// Find the highest request rate or concurrency that meets the objectives, with a confidence
    /// interval.
    Search(Box<search::SearchArgs>),
    /// Raise the load from one request in flight until the server is saturated, and find the knee
    /// of the throughput curve.
    Sweep(Box<sweep::SweepArgs>),
    /// Compare two servers, or a server with itself, in pairs of short blocks of requests, until the
    /// answer is certain. A pair is one block of each server; chance decides which server is first.
    Ab(Box<ab::AbArgs>),
    /// Measure a prefix cache: what its tokens save, and how many it keeps.
    Cache(Box<cache::CacheArgs>),
    /// Show what fits into the memory of a card (GPU): weights, KV cache, longest sequence, number
    /// of sequences.
    Memory(Box<memory::MemoryArgs>),
    /// Show what a trace of agents or other recorded requests contains, and convert it; nothing is
    /// sent.
    Trace(trace::TraceArgs),
    /// Pass requests of agents on to a server, and write them as a trace, which `run --workload agents`
    /// plays.
    Record(record::RecordArgs),
    /// Find which cards and how many servers carry a load within objectives, with which chance and at
    /// which cost; all is predicted.
    Plan(Box<plan::PlanArgs>),
    /// Find the best arguments of a server that is started with each of them in turn, within
    /// objectives; predictions leave out what is much worse.
    Tune(Box<tune::TuneArgs>),
    /// Fit the constants of the embedded engine to measured results; the result is a profile.
    Calibrate(Box<calibrate::CalibrateArgs>),
    /// Serve the embedded engine, a calibrated simulator of a serving engine, over HTTP.
    Engine(Box<engine::EngineArgs>),
    /// Check how accurately this client measures on this machine, against a server with known
    /// timings.
    Check(check::CheckArgs),
    /// Write the reports of a stored run again.
    Report(report::ReportArgs),
    /// Compare runs with a baseline, metric by metric; --gate sets conditions for CI.
    Compare(compare::CompareArgs),
    /// Show the figures of runs with a tag over time, such as nightly runs, and since when a figure is
    /// worse or better; --gate sets conditions for CI.
    Trend(trend::TrendArgs),
    /// Import published tables, logs, results of other tools, and bundles into the store.
    Import(import::ImportArgs),
    /// List the stored runs, filtered by model, engine, card, tag, date, state and kind.
    Runs(runs::RunsArgs),
    /// Show one stored run: its target, results, plan and files.
    Show(show::ShowArgs),
    /// Add tags to a stored run, or remove them.
    Tag(tag::TagArgs),
    /// Add a note to a stored run, or print its notes.
    Note(tag::NoteArgs),
    /// Remove stored runs with their records.
    Rm(rm::RmArgs),
    /// Export a stored run in a format that other programs read, such as Parquet, CSV or JSON.
    Export(export::ExportArgs),
    /// Write a stored run to one file: plan, request hashes, server, environment, records.
    Bundle(bundle::BundleArgs),
    /// Repeat the run of a bundle on this machine, and report whether the results agree and what
    /// differs.
    Reproduce(Box<reproduce::ReproduceArgs>),
    /// Show stored runs and runs in progress in a browser.
    Web(web::WebArgs),
    /// Download data sets and tokenizers, or list the available data sets.
    Fetch(fetch::FetchArgs),
    /// List cards, dialects, findings, metrics, models, presets, profiles or scenarios.
    List(list::ListArgs),
    /// Print the completion script of a shell.
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
    /// Whether a mistake in the settings is an error for this command. False for commands that work without settings.
    pub fn has_settings(&self) -> bool {
        !matches!(
            self,
            Self::Engine(_)
                | Self::Check(_)
                | Self::CheckPart(_)
                | Self::ServerGuard
                | Self::List(_)
                | Self::Memory(_)
                | Self::Trace(_)
                | Self::Plan(_)
                | Self::Record(_)
                | Self::Completions(_)
                | Self::Manual(_)
        )
    }

    /// Runs the command.
    ///
    /// # Errors
    /// The failure that determines the exit code.
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Self::Run(arguments) => run::run(*arguments),
            Self::Bench(arguments) => bench::bench(&arguments),
            Self::Predict(arguments) => predict::predict(&arguments),
            Self::Search(arguments) => search::search(*arguments),
            Self::Sweep(arguments) => sweep::sweep(*arguments),
            Self::Ab(arguments) => ab::ab(*arguments),
            Self::Cache(arguments) => cache::cache(*arguments),
            Self::Memory(arguments) => memory::memory(&arguments),
            Self::Trace(arguments) => trace::trace(&arguments),
            Self::Plan(arguments) => plan::plan(&arguments),
            Self::Record(arguments) => record::record(&arguments),
            Self::Tune(arguments) => tune::tune(&arguments),
            Self::Calibrate(arguments) => calibrate::calibrate(&arguments),
            Self::Engine(arguments) => engine::engine(*arguments),
            Self::Check(arguments) => check::check(&arguments),
            Self::CheckPart(arguments) => check_part::part(&arguments),
            Self::ServerGuard => {
                inferometer_servers::launch::guard::guard().map_err(Failure::run_failed)
            }
            Self::Report(arguments) => report::report(&arguments),
            Self::Compare(arguments) => compare::compare(&arguments),
            Self::Trend(arguments) => trend::trend(&arguments),
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
            Self::List(arguments) => list::list(&arguments),
            Self::Completions(arguments) => completions::completions(&arguments),
            Self::Manual(arguments) => manual::manual(&arguments),
        }
    }
}
