//! `runs`: what the store holds.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use inferometer_store::Store;

use crate::exit::{Failure, print};

/// The flags of `runs`.
#[derive(Args)]
pub struct RunsArgs {
    /// The database
    #[arg(long, value_name = "FILE", default_value = "inferometer.db")]
    store: PathBuf,
}

/// Lists the stored runs, the oldest first.
pub fn runs(arguments: &RunsArgs) -> Result<(), Failure> {
    let store = Store::open_existing(&arguments.store).map_err(Failure::usage)?;
    let mut text = String::new();
    for run in store.runs().map_err(Failure::not_carried_out)? {
        let version = run.engine_version.as_deref().unwrap_or("");
        let engine = run.engine.as_deref().unwrap_or("unknown engine");
        let simulated = match &run.imported_from {
            Some(file) => format!(" (imported from {file})"),
            None if run.simulated => " (simulation)".to_owned(),
            None => String::new(),
        };
        let validity = run.validity.as_deref().unwrap_or("-");
        let _ = writeln!(
            text,
            "{}  {:<11}  {validity:<7}  {:>3} cells  {} on {engine} {version}{simulated}",
            run.id,
            run.state.name(),
            run.cells,
            run.model,
        );
    }
    print(&text)
}
