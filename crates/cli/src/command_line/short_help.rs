//! Shortens `-h` of commands with many flags to the flags that most users need; `--help` shows all flags. Some flags of
//! `run` are rejected by other commands that share its flags. `-h` and `--help` of these commands do not show them.

use clap::Command;

/// Flags that `-h` shows for all commands in `OF_EACH`.
const OF_ALL: [&str; 7] =
    ["plan", "target", "model", "input_lengths", "output_lengths", "out", "dry_run"];
/// Additional flags that `-h` shows for each command.
const OF_EACH: [(&str, &[&str]); 5] = [
    ("run", &["requests", "concurrency", "rate", "slo"]),
    ("predict", &["engine", "card", "requests", "rate", "against"]),
    ("search", &["slo", "over", "max_requests", "max_time", "predict"]),
    ("sweep", &["by", "gpus", "max_requests", "max_time", "predict"]),
    ("ab", &["concurrency", "rate", "gate", "max_time", "predict"]),
];

/// Flags of `run` that a search or a sweep does not use, because it chooses the loads itself.
const OF_LOADS: [&str; 17] = [
    "passes",
    "one_by_one",
    "requests",
    "concurrency",
    "rate",
    "stages",
    "replay",
    "replay_speed",
    "replay_rows",
    "scale",
    "duration",
    "repeat",
    "until",
    "max_repeats",
    "dump_workload",
    "stop_when_saturated",
    "stop_at_error_rate",
];
/// Flags of `run` that a command rejects, or that have no effect in it.
const REFUSED: [(&str, &[&str]); 4] = [
    ("search", &OF_LOADS),
    ("sweep", &OF_LOADS),
    ("sweep", &["slo", "goodput", "junit", "max_failures"]),
    (
        "ab",
        &[
            "passes",
            "one_by_one",
            "stages",
            "replay",
            "replay_speed",
            "replay_rows",
            "duration",
            "repeat",
            "until",
            "max_repeats",
            "dump_workload",
            "stop_when_saturated",
            "stop_at_error_rate",
            "slo",
            "goodput",
            "resume",
            "tui",
            "balance",
            "session_header",
            "session_cookie",
            "server_card",
            "rendezvous",
            "join_timeout",
            "token_file",
        ],
    ),
];

/// Help texts of `ab` for flags that have another meaning or default than in `run`.
const OF_AB: [(&str, &str); 8] = [
    (
        "target",
        "Server under test, such as http://127.0.0.1:8000 or unix:/path/to.sock. Give it twice: \
            the first server is side A, the second is side B. A single server is compared with \
            itself [default: \
            OPENAI_BASE_URL, else the embedded engine]",
    ),
    (
        "junit",
        "Write JUnit XML with one test case for each metric. A test case fails if a condition of \
            --gate on its metric is missed. It is skipped if a condition is undecided (with \
            --strict, it fails), or if there is no condition on its metric",
    ),
    (
        "strict",
        "Exit with code 4 if a run is suspect (for example, some of its figures cannot be \
            trusted), and with code 3 if a condition of --gate is undecided. An undecided answer \
            of `ab` does not change the exit code",
    ),
    ("input_lengths", "Input length in tokens; a single value [default: 256]"),
    ("output_lengths", "Output length in tokens; a single value [default: 64]"),
    (
        "requests",
        "Number of requests of each block [default: 4 times the requests in flight, but 1 for one \
            request in flight; 64 with --rate]",
    ),
    ("concurrency", "Closed loop with this many requests in flight; a single value [default: 8]"),
    (
        "rate",
        "Open loop with this arrival rate (requests/s), instead of --concurrency; a single value",
    ),
];

/// Shortens `-h` of the commands in `OF_EACH`, hides the flags in `REFUSED`, and replaces the help texts in `OF_AB`.
pub fn shortened(command: Command) -> Command {
    let command = command.mut_subcommand("ab", |ab| {
        OF_AB
            .into_iter()
            .fold(ab, |ab, (id, help)| ab.mut_arg(id, |it| it.help(help).long_help(help)))
    });
    let command = REFUSED.into_iter().fold(command, |command, (name, refused)| {
        let hidden = |it: Command, id: &&str| it.mut_arg(*id, |it| it.hide(true));
        command.mut_subcommand(name, |command| refused.iter().fold(command, hidden))
    });
    OF_EACH.into_iter().fold(command, |command, (name, own)| {
        command.mut_subcommand(name, |command| {
            let is_shown = |id: &str| OF_ALL.contains(&id) || own.contains(&id);
            command
                .mut_args(|argument| {
                    let is_hidden = !is_shown(argument.get_id().as_str());
                    argument.hide_short_help(is_hidden)
                })
                .after_help(format!("inferometer {name} --help lists every flag."))
                // `--help` already shows all flags, so the hint is left out there.
                .after_long_help("")
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flag_listed_for_a_short_help_exists_and_each_short_help_shows_8_to_12_flags() {
        let command = crate::command_line::command();
        for (name, own) in OF_EACH {
            let command = command.find_subcommand(name).expect(name);
            let of_command = |id: &&str| command.get_arguments().any(|it| it.get_id() == *id);
            assert!(own.iter().all(of_command), "{name}");
            let shown = command.get_arguments().filter(|it| !it.is_hide_short_help_set()).count();
            assert!((8..=12).contains(&shown), "{name}: {shown}");
        }
    }
}
