//! The command line of Inferometer: arguments in, exit code out. What a command does is in the
//! library; how it is printed is in [`command`].

mod console;
mod exit;

mod interrupt;
mod lifeline;
mod not_text;
mod program;

mod consent;
mod progress;
mod prometheus;
mod terminal;
mod tui;

mod command;

#[cfg(test)]
mod live_fixture;

use std::process::ExitCode;

use clap::{Command, CommandFactory, FromArgMatches, Parser};

/// Measures how fast LLM serving engines are, and says how wrong its own numbers can be.
#[derive(Parser)]
#[command(name = "inferometer", version, about, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: command::Command,
}

fn main() -> ExitCode {
    inferometer_net::fail_writes_beyond_file_limit();
    let matches = with_negative_numbers(Arguments::command())
        .try_get_matches()
        .unwrap_or_else(|error| refuse(&error));
    let arguments = Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    match arguments.command.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.print();
            ExitCode::from(failure.code())
        }
    }
}

/// Ends as `clap` does with help or with wrong arguments. A key among these is not repeated.
fn refuse(error: &clap::Error) -> ! {
    let given: Vec<_> = std::env::args_os().skip(1).collect();
    if let Some(why) = not_text::refusal(error, &given) {
        let failure = exit::Failure::usage(why);
        failure.print();
        std::process::exit(failure.code().into());
    }
    let text = error.to_string();
    if error.use_stderr() && console::secrets().is_in(&text) {
        console::tell(text.trim_end());
        std::process::exit(error.exit_code());
    }
    error.exit()
}

/// What looks like a number is a value and no flag, so that one out of range is refused as that.
fn with_negative_numbers(command: Command) -> Command {
    let takes = |argument: clap::Arg| {
        let some = argument.get_num_args().is_none_or(|range| range.takes_values());
        match argument.get_action().takes_values() && some {
            true => argument.allow_negative_numbers(true),
            false => argument,
        }
    };
    command.mut_args(takes).mut_subcommands(with_negative_numbers)
}
