//! Which flags a command takes, and which of them its `-h` shows. The commands that measure or simulate a plan share
//! one definition of flags; the parser of a command has only those that the command takes.

use clap::{Arg, Command};
use inferometer_plan::spec::{PlanCommand, keys_left_out};

const OF_BUDGET: &[&str] = &["budget", "full"];
const TAKES_NO_BUDGET: &str =
    "belongs to `inferometer run`, which chooses lengths and loads; leave it out";

/// Flags of commands that a command does not take, and that are not keys of a plan: command, flags and reason.
const SWITCHES: [(PlanCommand, &[&str], &str); 8] = [
    (PlanCommand::Predict, OF_BUDGET, TAKES_NO_BUDGET),
    (PlanCommand::Search, OF_BUDGET, TAKES_NO_BUDGET),
    (PlanCommand::Sweep, OF_BUDGET, TAKES_NO_BUDGET),
    (PlanCommand::Ab, OF_BUDGET, TAKES_NO_BUDGET),
    (
        PlanCommand::Sweep,
        &["junit"],
        "a sweep has no objectives that could be test cases; leave out --junit, or use `inferometer search` for the \
         highest load that meets objectives",
    ),
    (PlanCommand::Ab, &["resume"], "a comparison cannot be resumed; start it again"),
    (PlanCommand::Ab, &["tui"], "shows one run, but a comparison has two; leave out --tui"),
    (
        PlanCommand::Ab,
        &["rendezvous", "join_timeout", "token_file"],
        "a comparison needs a single process; leave it out",
    ),
];

/// Flags that `-h` shows for all commands in `OF_EACH`.
const OF_ALL: [&str; 7] =
    ["plan", "target", "model", "input_lengths", "output_lengths", "out", "dry_run"];
/// Additional flags that `-h` shows for each command.
const OF_EACH: [(PlanCommand, &[&str]); 5] = [
    (PlanCommand::Run, &["requests", "concurrency", "rate", "slo", "budget"]),
    (PlanCommand::Predict, &["engine", "card", "requests", "rate", "against"]),
    (PlanCommand::Search, &["slo", "over", "max_requests", "max_time", "predict"]),
    (PlanCommand::Sweep, &["by", "gpus", "max_requests", "max_time", "predict"]),
    (PlanCommand::Ab, &["concurrency", "rate", "gate", "max_time", "predict"]),
];

/// Why a command does not take the flag with this id; `None` if it takes the flag, or if no other command has it.
pub fn why_left_out(command: PlanCommand, id: &str) -> Option<&'static str> {
    let of_switches = SWITCHES.iter().filter(|row| row.0 == command && row.1.contains(&id));
    let of_keys = keys_left_out(command).filter(|(key, _)| *key == id);
    of_switches.map(|row| row.2).chain(of_keys.map(|(_, why)| why)).next()
}

/// Whether the command with this name takes only some of the flags that it shares with `run`, which takes all.
pub fn leaves_out(name: &str) -> bool {
    PlanCommand::ALL.iter().any(|it| *it != PlanCommand::Run && it.name() == name)
}

/// Removes the flags that a command does not take, and shortens `-h` of commands with many flags to the flags that most
/// users need; `--help` shows all flags.
pub fn taken(all: Command) -> Command {
    // A command that is made anew would be listed last.
    let names: Vec<_> = all.get_subcommands().map(|one| one.get_name().to_owned()).collect();
    let all = OF_EACH.into_iter().fold(all, |all, (plan_command, own)| {
        let name = plan_command.name();
        all.mut_subcommand(name, |command| {
            let is_shown = |id: &str| OF_ALL.contains(&id) || own.contains(&id);
            with_flags(name, &command, |flag| {
                why_left_out(plan_command, flag.get_id().as_str()).is_none()
            })
            .mut_args(|flag| {
                let is_hidden = !is_shown(flag.get_id().as_str());
                flag.hide_short_help(is_hidden)
            })
            .after_help(format!("inferometer {name} --help lists every flag."))
            // `--help` already shows all flags, so the hint is left out there.
            .after_long_help("")
        })
    });
    names.into_iter().enumerate().fold(all, |all, (place, name)| {
        all.mut_subcommand(name, |command| command.display_order(place))
    })
}

/// A command with the description of another one, and with some of its flags.
fn with_flags(name: &'static str, command: &Command, keeps: impl Fn(&Arg) -> bool) -> Command {
    let flags = command.get_arguments().filter(|flag| keeps(flag)).cloned();
    let about = command.get_about().cloned().unwrap_or_default();
    let mut fewer = Command::new(name).about(about);
    if let Some(about) = command.get_long_about() {
        fewer = fewer.long_about(about.clone());
    }
    fewer.args(flags)
}

#[cfg(test)]
mod tests {
    use inferometer_plan::spec::known_keys;

    use super::*;

    fn ids(name: &str) -> Vec<String> {
        let all = crate::command_line::command();
        let command = all.find_subcommand(name).expect(name);
        command.get_arguments().map(|flag| flag.get_id().to_string()).collect()
    }

    #[test]
    fn every_flag_listed_for_a_short_help_exists_and_each_short_help_shows_8_to_12_flags() {
        let all = crate::command_line::command();
        for (name, own) in OF_EACH.map(|(command, own)| (command.name(), own)) {
            let command = all.find_subcommand(name).expect(name);
            let ids = ids(name);
            assert!(own.iter().all(|id| ids.iter().any(|known| known == id)), "{name}");
            let shown = command.get_arguments().filter(|it| !it.is_hide_short_help_set()).count();
            assert!((8..=12).contains(&shown), "{name}: {shown}");
        }
    }

    #[test]
    fn the_help_lists_the_commands_in_the_order_of_their_definition() {
        let help = crate::command_line::command().render_help().to_string();
        let at = |name: &&str| help.find(&format!("\n  {name} ")).expect(name);
        let order = ["run", "bench", "predict", "search", "sweep", "ab", "memory"];
        assert!(order.is_sorted_by_key(at), "{help}");
    }

    #[test]
    fn a_command_has_exactly_the_flags_of_run_that_it_does_not_leave_out() {
        let of_run = ids("run");
        for command in PlanCommand::ALL {
            let own = ids(command.name());
            let keys = known_keys();
            for id in
                of_run.iter().filter(|id| command != PlanCommand::Predict || keys.contains(id))
            {
                let is_left_out = why_left_out(command, id).is_some();
                assert_eq!(own.contains(id), !is_left_out, "{}: {id}", command.name());
            }
        }
        for (command, ids, _) in SWITCHES {
            assert!(
                ids.iter().all(|id| of_run.iter().any(|known| known == id)),
                "{}",
                command.name()
            );
        }
    }
}
