//! `check`: measures the errors and the capacity of this client on this machine, or the errors of past predictions.

use std::path::PathBuf;

use clap::Args;
use inferometer_check::{Extent, measure, text};

use super::check_predictions::check_predictions;
use crate::command_line::program::program;
use crate::command_line::{Failure, print};

/// The flags of `check`.
#[derive(Args)]
pub struct CheckArgs {
    /// Print one JSON document on stdout, and nothing else
    #[arg(long)]
    json: bool,
    /// Run for some seconds instead of two minutes; this shows that the client works, but is too
    /// short to judge its accuracy
    #[arg(long)]
    quick: bool,
    /// Print only errors on stderr
    #[arg(long)]
    quiet: bool,
    /// Do not check the client; compare predictions with all measured runs in the store whose
    /// engine, card and model are known, and report the errors of each profile
    #[arg(long, conflicts_with = "quick")]
    predictions: bool,
    /// The database
    #[arg(long, value_name = "FILE", default_value = "inferometer.db", requires = "predictions")]
    store: PathBuf,
    /// Profile to predict with, by name or file [default: for each run, your own profile of its
    /// engine, card and model, or else the profile of its engine and card]
    #[arg(long, value_name = "NAME|FILE", requires = "predictions")]
    profile: Option<String>,
}

/// Runs the check and prints the results.
pub fn check(arguments: &CheckArgs) -> Result<(), Failure> {
    if arguments.predictions {
        let profile = arguments.profile.as_deref();
        return check_predictions(&arguments.store, profile, arguments.json);
    }
    let extent = if arguments.quick { Extent::Quick } else { Extent::Full };
    let say = |what: &str| {
        if !arguments.quiet {
            eprintln!("checking: {what}");
        }
    };
    let document = measure(extent, &program("check")?, say)?;
    if arguments.json {
        print(&format!("{:#}\n", serde_json::json!(document)))
    } else {
        print(&text(&document))
    }
}
