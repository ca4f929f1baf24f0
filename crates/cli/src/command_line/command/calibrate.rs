//! `calibrate`: the flags, and the profile that was fitted, written.

use std::path::PathBuf;

use crate::calibrate::{Calibrated, Request, calibrate as fit};
use clap::Args;

use super::engine_flags::{EngineFlags, config};
use crate::command_line::exit::{Failure, print};

/// The flags of `calibrate`.
#[derive(Args)]
pub struct CalibrateArgs {
    /// What was measured: a published table (Markdown), perhaps #SECTION of it, or a stored run
    #[arg(value_name = "FILE.md[#SECTION]|RUN")]
    measured: String,
    /// The model that was measured: a name, or the path of a config.json
    #[arg(long, value_name = "NAME|FILE")]
    model: String,
    /// The profile to begin with: a name or a file [default: the model's]
    #[arg(long, value_name = "NAME|FILE")]
    profile: Option<String>,
    /// The card that was measured, where it is not the profile's
    #[arg(long, value_name = "NAME")]
    card: Option<String>,
    #[command(flatten)]
    engine: EngineFlags,
    /// Take only these rows, such as 128x128,2048x512 [default: all]
    #[arg(long, value_name = "INxOUT,...", value_delimiter = ',')]
    rows: Vec<String>,
    /// Requests of the saturated pass that was measured [default: those of the run; of a table 399]
    #[arg(long, value_name = "N")]
    requests: Option<u32>,
    /// The name of the new profile [default: calibrated-MODEL]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The database
    #[arg(long, value_name = "FILE")]
    store: Option<String>,
    /// Where to write the profile; a file that is there is not replaced
    #[arg(long, value_name = "FILE", default_value = "profile.toml")]
    out: PathBuf,
}

/// Fits a profile.
pub fn calibrate(arguments: &CalibrateArgs) -> Result<(), Failure> {
    let out = arguments.out.display();
    if arguments.out.exists() {
        return Err(Failure::usage(format!("--out: {out} is there already; take another name")));
    }
    let mut config =
        config(Some(&arguments.model), arguments.profile.as_deref(), &arguments.engine)?;
    if let Some(card) = &arguments.card {
        config.profile.card.clone_from(card);
        config.resolve().map_err(Failure::usage)?;
    }
    let Calibrated { profile, text } = fit(&Request {
        measured: &arguments.measured,
        config: &config,
        rows: &arguments.rows,
        requests: arguments.requests,
        name: arguments.name.as_deref(),
        store: arguments.store.as_deref(),
    })?;
    let toml = toml::to_string(&profile).map_err(Failure::run_failed)?;
    std::fs::write(&arguments.out, toml)
        .map_err(|error| Failure::usage(format!("--out: {out}: cannot be written: {error}")))?;
    print(&format!(
        "{text}wrote {out}; predict with it: inferometer predict --model {} --profile {out}\n",
        arguments.model
    ))
}
