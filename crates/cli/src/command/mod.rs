//! The commands, one file each.

mod dialects;
mod engine;
mod metrics;
mod models;
mod report;
mod run;
mod runs;

use clap::Subcommand;

use crate::exit::Failure;

/// What to do.
#[derive(Subcommand)]
pub enum Command {
    /// Benchmark a server, or the embedded engine when none is given.
    Run(Box<run::RunArgs>),
    /// Serve the embedded engine over HTTP: a calibrated model of a serving engine.
    Engine(Box<engine::EngineArgs>),
    /// Make the reports of a stored run again.
    Report(report::ReportArgs),
    /// List the stored runs.
    Runs(runs::RunsArgs),
    /// List the metrics with their definitions.
    Metrics,
    /// List the dialects that servers can be spoken to in.
    Dialects,
    /// List the models and profiles of the embedded engine.
    Models,
}

impl Command {
    /// Does it.
    ///
    /// # Errors
    /// As the exit codes say.
    pub fn carry_out(self) -> Result<(), Failure> {
        match self {
            Self::Run(arguments) => run::run(*arguments),
            Self::Engine(arguments) => engine::engine(*arguments),
            Self::Report(arguments) => report::report(&arguments),
            Self::Runs(arguments) => runs::runs(&arguments),
            Self::Metrics => metrics::metrics(),
            Self::Dialects => dialects::dialects(),
            Self::Models => models::models(),
        }
    }
}
