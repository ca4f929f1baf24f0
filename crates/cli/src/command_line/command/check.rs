//! `check`: how wrong this client is on this machine, and how much it can take.

use clap::Args;
use inferometer_check::{Extent, measure, text};

use crate::command_line::exit::{Failure, print};
use crate::command_line::program::program;

/// The flags of `check`.
#[derive(Args)]
pub struct CheckArgs {
    /// One JSON document on standard output
    #[arg(long)]
    json: bool,
    /// Some seconds instead of two minutes, to see that it works
    #[arg(long)]
    quick: bool,
    /// Nothing on standard error but errors
    #[arg(long)]
    quiet: bool,
}

/// Measures and prints.
pub fn check(arguments: &CheckArgs) -> Result<(), Failure> {
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
