//! Advice about unknown arguments: flags of other benchmarks, misspelt flags, and commands of other programs.

mod values;

use std::{ffi::OsString, fmt::Write as _};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use inferometer_plan::spec::PlanCommand;

use super::taken::why_left_out;
use crate::other_tools::vllm::FLAGS;
use crate::other_tools::{dashed, meanings, misspelt, pages};

/// Advice about a value in the format of another tool, for a flag that this program also has.
pub fn advice_on_values(arguments: &[OsString]) -> Option<String> {
    let words: Vec<_> = arguments.iter().filter_map(|argument| argument.to_str()).collect();
    values::advice(&words)
}

/// Advice about an unknown command or flag; None if the message of the parser is enough.
pub fn advice(error: &clap::Error, arguments: &[OsString]) -> Option<String> {
    let words: Vec<_> = arguments.iter().filter_map(|argument| argument.to_str()).collect();
    match error.kind() {
        ErrorKind::InvalidSubcommand => on_command(invalid(error, ContextKind::InvalidSubcommand)?),
        ErrorKind::UnknownArgument => {
            on_flag(whole(invalid(error, ContextKind::InvalidArg)?, &words), &words)
        }
        _ => None,
    }
}

fn invalid(error: &clap::Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind) {
        Some(ContextValue::String(refused)) => Some(refused),
        _ => None,
    }
}

/// Commands of similar programs, with advice.
const COMMANDS: [(&[&str], &str); 4] = [
    (
        &["serve", "server", "start"],
        "`inferometer engine` serves the embedded engine; `inferometer bench serve` measures a \
            server with the flags of vllm bench serve",
    ),
    (&["benchmark", "profile", "measure", "test"], "`inferometer run` measures a server"),
    (&["ls"], "`inferometer runs` lists the stored runs"),
    (&["man"], "`inferometer manual FOLDER` writes the manual pages"),
];

fn on_command(refused: &str) -> Option<String> {
    let (_, told) = COMMANDS.iter().find(|(names, _)| names.contains(&refused))?;
    Some(format!("{refused}: there is no such command: {told}"))
}

/// Flags that select the load. A search or a sweep chooses the load itself.
const LOADS: [&str; 3] = ["--concurrency ", "--rate ", "--stages "];

/// Flags that a reader of this program's own pages may expect: command, flag, and advice.
const EXPECTED: [(&str, &str, &str); 2] = [
    ("run", "--predict", "`inferometer predict` takes the same plan and flags"),
    ("ab", "--a", "the flags without --b describe side A; `--b NAME=VALUE` changes one for side B"),
];

fn on_flag(flag: &str, words: &[&str]) -> Option<String> {
    let command = words.get(1).copied().unwrap_or_default();
    if let Some((.., told)) = EXPECTED.iter().find(|known| (known.0, known.1) == (command, flag)) {
        return Some(format!("{flag}: is not a flag of `inferometer {command}`: {told}"));
    }
    if command == "bench" {
        return of_bench(flag);
    }
    let ours = flags_of("run");
    let ours: Vec<&str> = ours.iter().map(String::as_str).collect();
    if ours.contains(&flag) {
        return not_taken(flag, command);
    }
    let near = if meanings(flag).is_empty() { Some(misspelt(flag, &ours)?) } else { None };
    let meant = near.unwrap_or(flag);
    let mut text = format!("{flag}: is not a flag of this command");
    if let Some(near) = near {
        let _ = write!(text, ", and similar to {near}");
    }
    let own = flags_of(command);
    let has = |here: &str| own.iter().any(|flag| Some(flag.as_str()) == here.split(' ').next());
    for (here, tools) in meanings(meant) {
        let what = match here.starts_with("--") {
            true if command == "sweep" && LOADS.iter().any(|load| here.starts_with(load)) => {
                "a sweep chooses the load itself, up to saturation: --by concurrency or --by rate"
                    .to_owned()
            }
            true if command == "search" && LOADS.iter().any(|load| here.starts_with(load)) => {
                "a search chooses the load itself, between --from and --to: --over rate or --over \
                    concurrency"
                    .to_owned()
            }
            true if has(here) => format!("`inferometer {command}` has {here}"),
            true => format!("`inferometer run` has {here}"),
            false => here.to_owned(),
        };
        let _ = write!(text, "\n  as a flag of {}: {what}", tools.join(" and "));
    }
    if FLAGS.iter().any(|known| known.name == dashed(meant)) {
        text += "\n  `inferometer bench serve` takes the flags of vllm bench serve as they are";
    }
    let pages = pages(meant).map(|page| format!("docs/coming-from/{page}"));
    let pages = pages.collect::<Vec<_>>().join(", ");
    if !pages.is_empty() {
        let _ = write!(text, "\n  comparison of all flags: {pages}");
    }
    Some(text)
}

/// Advice about a flag of `run` that another command does not take.
fn not_taken(flag: &str, command: &str) -> Option<String> {
    let all = super::command();
    let run = all.find_subcommand("run")?;
    let of_run =
        |known: &&clap::Arg| known.get_long().is_some_and(|long| flag == format!("--{long}"));
    let id = run.get_arguments().find(of_run)?.get_id().as_str();
    if command == "run" {
        return None;
    }
    let why = PlanCommand::named(command).and_then(|command| why_left_out(command, id));
    Some(match why {
        Some(why) => format!("{id} ({flag}): {why}"),
        None => format!(
            "{flag}: is not a flag of `inferometer {command}`; did you mean `inferometer run {flag}`?"
        ),
    })
}

/// Advice about a flag of `run` that was given to `bench serve`.
fn of_bench(flag: &str) -> Option<String> {
    if !flags_of("run").iter().any(|ours| ours == flag) {
        return None;
    }
    let does = |here: &str| here.split([' ', ';']).next() == Some(flag);
    let same: Vec<&str> =
        FLAGS.iter().filter(|theirs| does(theirs.here)).map(|theirs| theirs.name).collect();
    let instead = match same.is_empty() {
        true => "which measures the same servers with its own flags".to_owned(),
        false => format!("and is {} here, as in vllm bench serve", same.join(" or ")),
    };
    Some(format!("{flag}: is a flag of `inferometer run`, {instead}"))
}

/// The argument as the user typed it. The parser reports `-n` for `-ngl`.
fn whole<'a>(refused: &'a str, words: &[&'a str]) -> &'a str {
    let name = refused.split(['=', ' ']).next().unwrap_or(refused);
    let is_short = name.len() == 2 && !name.starts_with("--");
    let longer = words.iter().filter(|word| is_short && word.starts_with(name));
    longer.copied().find(|word| !meanings(word).is_empty()).unwrap_or(name)
}

/// The long flags of a command, with leading dashes.
fn flags_of(command: &str) -> Vec<String> {
    let all = super::command();
    let found = all.find_subcommand(command);
    let longs = found.into_iter().flat_map(clap::Command::get_arguments);
    longs.filter_map(|flag| Some(format!("--{}", flag.get_long()?))).collect()
}

#[cfg(test)]
mod tests;
