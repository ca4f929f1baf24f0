//! The command line of Inferometer: it takes arguments and returns an exit code. The module `command` parses flags and
//! prints results; the rest of the library does the work.

mod console;
mod exit;
mod files;

mod interrupt;
mod lifeline;
mod not_text;
mod other_tools;
mod program;
mod taken;

mod consent;
mod progress;
mod prometheus;
mod terminal;
mod tui;

mod command;

#[cfg(test)]
mod documents;
#[cfg(test)]
mod live_fixture;
#[cfg(test)]
mod reference;

use std::{ffi::OsString, path::PathBuf, sync::LazyLock};

pub(crate) use console::{colour, screen, tell, variable};
pub(crate) use exit::{Failure, Kind, first_of, print};
pub(crate) use terminal::{View, show};

pub use command::against::{Prepared, prepared};
pub use command::engine_flags::{EngineFlags, config as engine_config};

use clap::{CommandFactory, FromArgMatches, Parser, error::ContextKind};

/// The commands to begin with, at the end of the help.
const BEGIN_WITH: &str = "Begin with:
  inferometer run --target http://localhost:8000        measure a server
  inferometer predict --model qwen3-14b                 predict one that you do not have
  inferometer search --target http://localhost:8000 --slo 'ttft_p99<500ms'
                                                        find the highest load that meets objectives";

/// Measures how fast LLM serving engines are, and states the error of its own numbers.
#[derive(Parser)]
#[command(name = "inferometer", version, about, max_term_width = 100, after_help = BEGIN_WITH)]
struct Arguments {
    #[command(subcommand)]
    command: command::Command,
}

/// Replaces `help --help` by `--help`, because `clap` would parse the flag as the name of a command.
fn without_help_of_help(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let is_flag = |argument: &OsString| argument == "--help" || argument == "-h";
    if arguments.len() == 3 && arguments[1] == "help" && is_flag(&arguments[2]) {
        arguments.remove(1);
    }
    arguments
}

/// Runs the command in `arguments` and returns the exit code. The first argument is the name of the program. Results
/// are written to standard output; progress and errors are written to standard error. `program` is the executable file
/// for child processes of this program; by default, the executable file of this process.
///
/// This function installs signal handlers, and a second interruption ends the process. A process should call it only
/// once, as its last action.
pub fn main(arguments: Vec<OsString>, program: Option<PathBuf>) -> u8 {
    inferometer_net::fail_writes_beyond_file_limit();
    let arguments = command::list::with_list(without_help_of_help(arguments));
    if let Some(file) = program {
        program::set_file(file);
    }
    let settings = command::settings::Settings::read();
    let words = settings.as_ref().map(|settings| settings.secret_words()).unwrap_or_default();
    console::arguments_are(&arguments, words);
    if let Some(advice) = other_tools::advice_on_values(&arguments) {
        let failure = Failure::usage(advice);
        failure.print();
        return failure.code();
    }
    let store = settings.as_ref().ok().and_then(|settings| settings.store());
    let parsed = with_store(command(), store).try_get_matches_from(&arguments);
    let parsed = parsed.and_then(|matches| {
        // Several commands share the types of their flags, so these are read by a parser that has all flags.
        let has_all = !matches.subcommand_name().is_some_and(taken::leaves_out);
        Arguments::from_arg_matches(&match has_all {
            true => matches,
            false => with_store(whole_command(), store).try_get_matches_from(&arguments)?,
        })
    });
    let done = parsed.map(|arguments| {
        // Errors in the settings matter only for the commands that use them.
        if arguments.command.has_settings() {
            settings?;
        }
        arguments.command.run()
    });
    match done {
        Ok(Ok(())) => 0,
        Ok(Err(failure)) => {
            failure.print();
            failure.code()
        }
        Err(error) => refuse(&error, &arguments),
    }
}

/// All commands, each with the flags of the types that it shares with others, even if it does not take them.
fn whole_command() -> clap::Command {
    with_negative_numbers(Arguments::command())
}

/// All commands with the flags that they take.
fn command() -> clap::Command {
    let command = taken::taken(whole_command());
    static LONG: LazyLock<Option<String>> =
        LazyLock::new(|| long_version(option_env!("INFEROMETER_COMMIT")));
    match LONG.as_deref() {
        Some(version) => command.long_version(version),
        None => command,
    }
}

/// The output of `--version` if the build knows its commit, as in the packages; otherwise None. `-V` prints only the
/// version.
fn long_version(commit: Option<&str>) -> Option<String> {
    let commit = commit.filter(|commit| !commit.is_empty())?;
    Some(format!("{} (commit {commit})", env!("CARGO_PKG_VERSION")))
}

/// Sets the default of `--store` from the settings, for commands that do not read plans. Commands that read plans apply
/// all settings themselves.
fn with_store(command: clap::Command, store: Option<&str>) -> clap::Command {
    let Some(store) = store else { return command };
    // The parser needs a static text. A process has only one command line, so the memory is leaked only once.
    let store: &'static str = store.to_owned().leak();
    below_with_store(command, store)
}

/// Sets the default of `--store` for the subcommands at all levels.
fn below_with_store(command: clap::Command, store: &'static str) -> clap::Command {
    command.mut_subcommands(|command| {
        let of_plans =
            ["run", "search", "sweep", "predict", "ab", "cache"].contains(&command.get_name());
        let has_store = command.get_arguments().any(|argument| argument.get_id() == "store");
        let command = below_with_store(command, store);
        match has_store && !of_plans {
            true => command.mut_arg("store", |argument| argument.default_value(store)),
            false => command,
        }
    })
}

/// Prints help, or the errors in the arguments, and returns the exit code. API keys among the arguments are not
/// printed.
fn refuse(error: &clap::Error, arguments: &[OsString]) -> u8 {
    if let Some(why) = not_text::refusal(error, arguments.get(1..).unwrap_or_default()) {
        let failure = Failure::usage(why);
        failure.print();
        return failure.code();
    }
    if let Some(advice) = other_tools::advice(error, arguments) {
        let failure = Failure::usage(advice);
        failure.print();
        return failure.code();
    }
    let text = error.to_string();
    let plain = number_words(&without_body(error, &text));
    if error.use_stderr() && (plain != text || console::secrets().is_in(&text)) {
        tell(plain.trim_end());
    } else if error.print().is_err() {
        // If the output cannot be written, the failure cannot be reported.
    }
    u8::try_from(error.exit_code()).unwrap_or(2)
}

/// The message without the value of `--extra-body`, which may contain a secret that this program does not know.
fn without_body(error: &clap::Error, text: &str) -> String {
    let context = |kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
    match context(ContextKind::InvalidArg).starts_with("--extra-body") {
        true => text.replace(&format!("'{}' ", context(ContextKind::InvalidValue)), ""),
        false => text.to_owned(),
    }
}

/// Replaces the messages of the number parser with clearer ones.
fn number_words(text: &str) -> String {
    let words = [
        ("invalid digit found in string", "a whole number is expected"),
        ("cannot parse integer from empty string", "a whole number is expected"),
        ("number too large to fit in target type", "the number is too large"),
        ("invalid float literal", "a number is expected"),
        ("cannot parse float from empty string", "a number is expected"),
    ];
    words.iter().fold(text.to_owned(), |text, (theirs, ours)| text.replace(theirs, ours))
}

/// Makes the parser accept a negative number as the value of a flag, so that the error message states that the number
/// is out of range.
fn with_negative_numbers(command: clap::Command) -> clap::Command {
    let takes = |argument: clap::Arg| {
        let some = argument.get_num_args().is_none_or(|range| range.takes_values());
        match argument.get_action().takes_values() && some {
            true => argument.allow_negative_numbers(true),
            false => argument,
        }
    };
    command.mut_args(takes).mut_subcommands(with_negative_numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_long_version_shows_the_commit_if_the_build_knows_it() {
        let expected = concat!(env!("CARGO_PKG_VERSION"), " (commit 0a1b2c3d)");
        assert_eq!(long_version(Some("0a1b2c3d")).as_deref(), Some(expected));
        assert_eq!((long_version(None), long_version(Some(""))), (None, None));
    }

    #[test]
    fn a_wrong_extra_body_is_refused_without_its_text() {
        let error =
            command().try_get_matches_from(["inferometer", "run", "--extra-body", "[\"sk-1\"]"]);
        let error = error.expect_err("it is no object");
        let told = without_body(&error, &error.to_string());
        assert!(told.contains("'--extra-body <JSON>': is not a JSON object"), "{told}");
        assert!(!told.contains("sk-1"), "{told}");
    }
}
