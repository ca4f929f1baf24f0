//! `completions`: prints the script with which a shell completes commands, flags and values.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Arg, Args, Command, ValueHint};
use clap_complete::{Shell, generate};
use inferometer_analysis::inspect::codes;
use inferometer_engine::{Dtype, Weights};
use inferometer_plan::TraceFormat;
use inferometer_plan::spec::{PlanCommand, takes_workload, workload_names};
use inferometer_servers::launch::preset;
use inferometer_wire::dialect::dialects;
use serde_json::Value;

use crate::command_line::{Failure, print};
use crate::scenario::{Scenario, scenarios};

/// The shells of Linux servers.
const SHELLS: [&str; 3] = ["bash", "fish", "zsh"];

/// The flags of `completions`.
#[derive(Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_parser = PossibleValuesParser::new(SHELLS).try_map(|name| name.parse::<Shell>()))]
    shell: Shell,
}

/// Prints the script.
pub fn completions(arguments: &CompletionsArgs) -> Result<(), Failure> {
    let mut script = Vec::new();
    let mut command = offered_command(&crate::command_line::command());
    generate(arguments.shell, &mut command, "inferometer", &mut script);
    print(&String::from_utf8_lossy(&script))
}

/// What a shell offers for a command: its subcommands and its arguments, without the hidden ones. The arguments have
/// the values that a shell offers. The parser of arguments does not use these values, so that a wrong value is reported
/// together with all other mistakes of a plan.
fn offered_command(command: &Command) -> Command {
    // The generators of scripts offer hidden arguments too, and arguments of a command cannot be removed. So the
    // command is built again. The parser requires static texts. Leaking their memory is acceptable, because a process
    // prints only one script.
    let name: &'static str = command.get_name().to_owned().leak();
    let shown = command.get_arguments().filter(|argument| !argument.is_hide_set());
    let subcommands = command.get_subcommands().filter(|command| !command.is_hide_set());
    let again = Command::new(name)
        .args(shown.map(|argument| offered(name, argument.clone())))
        .subcommands(subcommands.map(offered_command));
    let again = match command.get_about() {
        Some(about) => again.about(about.clone()),
        None => again,
    };
    match command.get_version() {
        Some(version) => again.version(&*version.to_owned().leak()),
        None => again,
    }
}

fn offered(command: &str, argument: Arg) -> Arg {
    if !takes_values(&argument) || !argument.get_possible_values().is_empty() {
        return argument;
    }
    let name = value_name(&argument);
    let values = values(command, argument.get_id().as_str(), &name);
    if !values.is_empty() {
        // The parser requires static names.
        let values = values.into_iter().map(|value| &*value.leak());
        return argument
            .value_parser(PossibleValuesParser::new(values.collect::<Vec<&'static str>>()));
    }
    argument.value_hint(hint(&name))
}

fn takes_values(argument: &Arg) -> bool {
    let some = argument.get_num_args().is_none_or(|range| range.takes_values());
    argument.get_action().takes_values() && some
}

/// The placeholder of the value in the help.
fn value_name(argument: &Arg) -> String {
    let names = argument.get_value_names().unwrap_or_default();
    names.first().map_or_else(|| argument.get_id().as_str().to_uppercase(), ToString::to_string)
}

/// The possible values of an argument whose parser does not list them.
fn values(command: &str, id: &str, value_name: &str) -> Vec<String> {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    match (command, id) {
        (_, "dialect") => {
            let names = dialects().iter().map(|dialect| dialect.name.to_owned());
            std::iter::once("auto".to_owned()).chain(names).collect()
        }
        (_, "workload") => {
            let names = workload_names().filter(|workload| is_taken(command, workload));
            names.map(str::to_owned).collect()
        }
        (_, "scenario") => {
            let is_accepted = |scenario: &Scenario| {
                let workload = scenario.plan.get("workload").and_then(Value::as_str);
                workload.is_none_or(|workload| is_taken(command, workload))
            };
            let accepted = scenarios().into_iter().filter(is_accepted);
            accepted.map(|scenario| scenario.name).collect()
        }
        (_, "trace_format") => {
            owned(&[&["auto"][..], &TraceFormat::ALL.map(TraceFormat::name)].concat())
        }
        (_, "weights") => owned(&Weights::ALL.map(Weights::name)),
        (_, "dtype") => owned(&Dtype::NAMES),
        (_, "passes") => owned(&["table", "one_by_one", "saturated"]),
        ("findings", "names") => codes().iter().map(|code| code.name.to_owned()).collect(),
        ("presets", "name") => preset::presets().map(|(name, _)| name.to_owned()).collect(),
        // In `queue|drop`, the placeholder lists the values.
        _ if value_name.contains('|')
            && value_name.chars().all(|c| c.is_ascii_lowercase() || c == '|') =>
        {
            owned(&value_name.split('|').collect::<Vec<_>>())
        }
        _ => Vec::new(),
    }
}

/// Whether a command takes a workload.
fn is_taken(command: &str, workload: &str) -> bool {
    PlanCommand::named(command).is_none_or(|command| takes_workload(command, workload))
}

/// The kind of value that a shell completes, such as a file path. The placeholder in the help determines the kind.
fn hint(value_name: &str) -> ValueHint {
    let has = |words: &[&str]| words.iter().any(|word| value_name.contains(word));
    if has(&["FILE", "PATH", "PLAN"]) {
        ValueHint::FilePath
    } else if has(&["DIR", "FOLDER"]) {
        ValueHint::DirPath
    } else if has(&["URL"]) {
        ValueHint::Url
    } else {
        ValueHint::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_argument_with_a_value_has_possible_values_or_a_value_hint() {
        let mut looked_at = 0;
        let mut all = vec![offered_command(&crate::command_line::command())];
        while let Some(command) = all.pop() {
            all.extend(command.get_subcommands().cloned());
            for argument in command.get_arguments().filter(|one| takes_values(one)) {
                looked_at += 1;
                let offers = !argument.get_possible_values().is_empty();
                let is_known = argument.get_value_hint() != ValueHint::Unknown;
                assert!(offers || is_known, "{} {}", command.get_name(), argument.get_id());
            }
        }
        assert!(looked_at > 200, "{looked_at}");
    }

    #[test]
    fn completions_offer_the_values_that_the_plan_parser_accepts() {
        for name in Dtype::NAMES {
            assert!(Dtype::parse(name).is_some(), "{name}");
        }
        for (flag, value_name, expected) in [
            ("over_limit", "queue|drop", &["queue", "drop"][..]),
            ("arrivals", "inferometer|vllm", &["inferometer", "vllm"]),
            ("proxy", "URL|none", &[]),
            (
                "trace_format",
                "NAME",
                &["auto", "mooncake", "bailian", "azure", "burstgpt", "plain"],
            ),
        ] {
            assert_eq!(values("run", flag, value_name), expected, "{flag}");
        }
    }

    #[test]
    fn a_shell_offers_no_flag_that_a_command_does_not_take() {
        let whole = crate::command_line::command();
        let offered = offered_command(&whole);
        for (name, hidden, shown) in [
            ("search", "conversations", "input_lengths"),
            ("predict", "over_limit", "max_in_flight"),
            ("ab", "slo", "gate"),
            ("run", "", "slo"),
        ] {
            let flags = offered.find_subcommand(name).expect("a command").get_arguments();
            let flags: Vec<&str> = flags.map(|flag| flag.get_id().as_str()).collect();
            assert!(flags.contains(&shown) && !flags.contains(&hidden), "{name}: {flags:?}");
        }
    }

    #[test]
    fn the_help_of_a_command_names_the_workloads_and_scenarios_that_a_shell_offers() {
        let whole = crate::command_line::command();
        for (name, flag) in ["run", "predict", "search", "sweep", "ab"]
            .into_iter()
            .flat_map(|name| ["workload", "scenario"].map(|flag| (name, flag)))
        {
            let command = whole.find_subcommand(name).expect("a command");
            let argument = command.get_arguments().find(|one| one.get_id() == flag);
            let help = argument.and_then(Arg::get_help).expect("a help text").to_string();
            let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
            let words: Vec<&str> = help.split(|c| !is_of_name(c)).collect();
            for value in values(name, flag, "NAME") {
                assert!(words.contains(&value.as_str()), "{name}: {value}: {help}");
            }
        }
    }
}
