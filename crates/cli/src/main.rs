//! The command line of Inferometer: arguments in, exit code out. What a command does is in
//! [`command`]; nothing is computed here.

mod check;
mod command;
mod exit;
mod export;
mod exposed;
mod lifeline;
mod plan_file;
mod run;
mod scenario;
mod tui;

use std::process::ExitCode;

use clap::Parser;

/// Measures how fast LLM serving engines are, and says how wrong its own numbers can be.
#[derive(Parser)]
#[command(name = "inferometer", version, about, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: command::Command,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match arguments.command.carry_out() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.tell();
            ExitCode::from(failure.code())
        }
    }
}
