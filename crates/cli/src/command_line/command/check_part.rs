//! The processes that `check` starts: server, bare reader and client. Users do not call this command.

use std::time::Duration;

use clap::Args;
use inferometer_check::{Part, client, in_memory, reader, server};
use inferometer_net::raise_open_files_limit;
use inferometer_report::terminal;

use crate::command_line::console::screen;
use crate::command_line::{Failure, lifeline, print};

/// The part of the check.
#[derive(Args)]
pub struct PartArgs {
    /// What the process does, as JSON
    part: String,
}

/// Runs a part of the check.
///
/// # Errors
/// If the part fails.
pub fn part(arguments: &PartArgs) -> Result<(), Failure> {
    raise_open_files_limit().map_err(Failure::run_failed)?;
    match serde_json::from_str(&arguments.part).map_err(Failure::usage)? {
        Part::Server { first_us, gap_us } => {
            lifeline::end_with_stdin();
            let (first, gap) = (Duration::from_micros(first_us), Duration::from_micros(gap_us));
            server(first, gap, |at| print(&format!("listening on http://{at}\n")))
        }
        Part::Reader(load) => print(&serde_json::json!(reader(&load)?).to_string()),
        Part::Client(load) => print(&serde_json::json!(client(&load)?).to_string()),
        Part::InMemory(plan) => {
            let summary = in_memory(plan)?.summary;
            print(&terminal::text(&[summary], screen()))
        }
    }
}
