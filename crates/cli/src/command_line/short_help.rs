//! Shortens `-h` of commands with many flags to the flags that most users need; `--help` shows all flags. Some flags of
//! `run` are refused by other commands that share its flags, or have no effect in them. `-h` and `--help` of these
//! commands do not show them. Their parsers still accept them, so that the error states why the command refuses them.

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

/// Flags of conversations. `search`, `sweep` and `ab` refuse conversations, which have loads of their own. `predict`
/// refuses them, because they depend on the answers of a server.
const OF_CONVERSATIONS: [&str; 7] = [
    "conversations",
    "turns",
    "think_time",
    "first_turn_input",
    "turn_input",
    "turn_output",
    "concurrency_of",
];
/// Flags for loads. A search or a sweep refuses them, because it chooses the loads itself.
const OF_LOADS: [&str; 16] = [
    "passes",
    "one_by_one",
    "requests",
    "concurrency",
    "rate",
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
];
/// Flags of the workload `blocks`. A prediction refuses this workload, because only a measurement shows the lengths of
/// its outputs.
const OF_BLOCKS: [&str; 6] = [
    "block_sizes",
    "wanted_lengths",
    "block_concurrency",
    "template",
    "preamble",
    "max_output_tokens",
];
/// Flags for loads that have no effect in a search or a sweep.
const WITHOUT_EFFECT_ON_TRIALS: [&str; 3] = ["scale", "prompts_per_group", "block_concurrency"];
/// Flags of `run` that the help of a command does not show: the command always refuses them. An exception is
/// `over_limit` in a prediction, which accepts only the default value.
const REFUSED: [(&str, &[&str]); 10] = [
    ("predict", &OF_CONVERSATIONS),
    ("predict", &OF_BLOCKS),
    ("predict", &["over_limit"]),
    ("search", &OF_CONVERSATIONS),
    ("search", &OF_LOADS),
    ("sweep", &OF_CONVERSATIONS),
    ("sweep", &OF_LOADS),
    ("sweep", &["slo", "junit", "max_failures"]),
    ("ab", &OF_CONVERSATIONS),
    (
        "ab",
        &[
            "block_concurrency",
            "trace_scale",
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
        ],
    ),
];
/// Flags of `run` that the help of a command does not show: the command accepts them, but they have no effect in it.
const WITHOUT_EFFECT: [(&str, &[&str]); 4] = [
    // The prefix cache of a simulated pass is empty at the start.
    ("predict", &["reset_prefix_cache"]),
    ("search", &WITHOUT_EFFECT_ON_TRIALS),
    ("sweep", &WITHOUT_EFFECT_ON_TRIALS),
    // A block has its own number of requests, and `ab` refuses several processes.
    ("ab", &["prompts_per_group", "rendezvous", "join_timeout", "token_file"]),
];

/// The commands that refuse conversations and recorded arrival times. `predict` refuses only conversations.
const WITHOUT_CONVERSATIONS: [&str; 3] = ["search", "sweep", "ab"];
const SCENARIO_WITHOUT_CONVERSATIONS: (&str, &str) = (
    "scenario",
    "Typical lengths and prefixes of an application: rag, classifier, rewriting, summarising, \
        code-completion (`inferometer list scenarios` describes them)",
);
/// Help texts of these commands for flags that have more values or uses in `run`.
const WITH_FEWER_VALUES: [(&str, &str); 5] = [
    (
        "balance",
        "Which of several servers gets the next request: round-robin, least-in-flight, or session \
            (prompts with the same prefix go to one server) [default: round-robin]",
    ),
    (
        "workload",
        "Where prompts come from [default: random]:
  random: random words
  prefix: random words, in groups with a shared prefix
  sharegpt: conversations of a ShareGPT file
  jsonl, csv, parquet: rows of a file
  replay: requests that `run --dump-workload` wrote
  trace: recorded lengths
  blocks: pieces of a text
If a flag is only for some workloads, its help or the heading of its group names these workloads",
    ),
    SCENARIO_WITHOUT_CONVERSATIONS,
    (
        "columns",
        "Names of the columns in your file, for the fields prompt, messages, token_ids, \
            output_tokens and body (jsonl, csv, parquet)",
    ),
    (
        "dataset",
        "File of the data set, or name of a downloaded data set (`inferometer fetch`). For the \
            workload blocks: a text file, a JSONL file or a folder [default for blocks: the \
            built-in Chinese text shipped-zh, or shipped-en with an English --template] \
            (sharegpt, jsonl, csv, parquet, replay, trace, blocks)",
    ),
];

/// Help texts of a command for flags that have another meaning or default than in `run`.
const OF_COMMANDS: [(&str, &[(&str, &str)]); 4] =
    [("predict", &OF_PREDICT), ("search", &OF_SEARCH), ("sweep", &OF_SWEEP), ("ab", &OF_AB)];
const OF_PREDICT: [(&str, &str); 5] = [
    (
        "workload",
        "Where prompts come from [default: random]:
  random: random words
  prefix: random words, in groups with a shared prefix
  sharegpt: conversations of a ShareGPT file
  jsonl, csv, parquet: rows of a file
  replay: requests that --dump-workload wrote
  trace: recorded arrivals and lengths
If a flag is only for some workloads, its help or the heading of its group names these workloads",
    ),
    SCENARIO_WITHOUT_CONVERSATIONS,
    (
        "dataset",
        "File of the data set, or name of a downloaded data set (`inferometer fetch`) (sharegpt, \
            jsonl, csv, parquet, replay, trace)",
    ),
    (
        "one_by_one",
        "Number of requests of the one_by_one pass [default: 10; 2 if neither lengths nor a load is \
            given. With --against, the number that the measured results state]",
    ),
    (
        "requests",
        "Number of requests of every pass except one_by_one [default: 399; 1000 for sharegpt \
            without lengths; 32 if neither lengths nor a load is given. With --against, the number \
            that the measured results state]",
    ),
];
const TRACE_SCALE: (&str, &str) = (
    "trace_scale",
    "Multiply the number of requests of the trace: 2 sends each row twice in succession, 0.5 sends \
        every second row [default: 1] (trace)",
);
/// The default sizes of the workload `blocks`. A search and a sweep have no load that could be given.
const BLOCK_SIZES: (&str, &str) = (
    "block_sizes",
    "Sizes in characters of the text blocks in prompts [default: 100,500,1000,2000,4000; 100,500 \
        if neither a server nor sizes are given]",
);
const WANTED_LENGTHS: (&str, &str) = (
    "wanted_lengths",
    "Output sizes that the prompt asks for, in characters [default: 100,500,1000,2000,4000; \
        100,500 if neither a server nor sizes are given]",
);
const OF_SEARCH: [(&str, &str); 6] = [
    TRACE_SCALE,
    BLOCK_SIZES,
    WANTED_LENGTHS,
    (
        "plan",
        "A plan file (TOML); flags override its keys. If it has [[target]] tables, each of these \
            servers is searched separately, with the same workload",
    ),
    (
        "junit",
        "Write a JUnit XML file with one test case for each answer (each cell, and each tier of \
            it). A test case fails if no load meets the objectives, and is skipped if the answer is \
            undecided",
    ),
    (
        "max_failures",
        "Highest tolerated share of failed requests: an additional objective of the search \
            [default: 1% if all other objectives are means, otherwise none]",
    ),
];
const OF_SWEEP: [(&str, &str); 6] = [
    TRACE_SCALE,
    BLOCK_SIZES,
    WANTED_LENGTHS,
    (
        "plan",
        "A plan file (TOML); flags override its keys. If it has [[target]] tables, each of these \
            servers has its own sweep, with the same workload",
    ),
    (
        "quiet",
        "Print less on stderr: only errors, warnings, and the port that --metrics-listen 0 has \
            chosen",
    ),
    (
        "strict",
        "Exit with code 4 if the run is suspect (for example, some of its figures cannot be trusted)",
    ),
];
const OF_AB: [(&str, &str); 18] = [
    (
        "block_sizes",
        "Size in characters of the text blocks in prompts; a single value, required with \
            --workload blocks",
    ),
    (
        "wanted_lengths",
        "Output size that the prompt asks for, in characters; a single value, required with \
            --workload blocks",
    ),
    (
        "quiet",
        "Print less on stderr: only errors, warnings, the result of --gate, and the port that \
            --metrics-listen 0 has chosen",
    ),
    (
        "yes",
        "Start without confirmation. By default, a comparison of more than ten minutes must be \
            confirmed if a terminal is attached. With --quiet, no confirmation is needed",
    ),
    (
        "target",
        "Server under test, such as http://127.0.0.1:8000 or unix:/path/to.sock. Give it twice: \
            the first server is side A, the second is side B. A single server is compared with \
            itself [default: \
            OPENAI_BASE_URL, else the embedded engine]",
    ),
    (
        "balance",
        "If the host name of a target has several addresses: which of these servers gets the next \
            request: round-robin, least-in-flight, or session (prompts with the same prefix go to \
            one server) [default: round-robin]",
    ),
    (
        "server_card",
        "Card (GPU) of both servers, such as h100-sxm, if the servers do not state it. The card is \
            recorded as stated by you, and `calibrate` uses it. --b server-card=NAME names another \
            card for side B",
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
    (
        "input_lengths",
        "Input length in tokens; a single value [default: 256 if neither length is given; give both or none]",
    ),
    (
        "output_lengths",
        "Output length in tokens; a single value [default: 64 if neither length is given; give both or none]",
    ),
    (
        "passes",
        "Load of a block, instead of --concurrency: one_by_one (one request at a time) or \
            saturated (all requests of the block at the start); a single value",
    ),
    ("one_by_one", "Number of requests of each block with --passes one_by_one [default: 1]"),
    (
        "requests",
        "Number of requests of each block, except with --passes one_by_one [default: 4 times the \
            requests in flight, but 1 for one request in flight; 64 with --rate or --passes \
            saturated]",
    ),
    ("concurrency", "Closed loop with this many requests in flight; a single value [default: 8]"),
    (
        "rate",
        "Open loop with this arrival rate (requests/s), instead of --concurrency; a single value",
    ),
    (
        "scale",
        "Do not scale the random gaps between arrivals. By default the gaps are scaled so that N \
            arrivals at the rate R span exactly N / R seconds",
    ),
    (
        "max_failures",
        "Highest tolerated share of failed requests of a side, over all its blocks; above it the \
            command fails with exit code 1 [default: 1%]",
    ),
];

/// Shortens `-h` of the commands in `OF_EACH`, hides flags that a command does not use, and replaces help texts that
/// are true only for `run`.
pub fn shortened(command: Command) -> Command {
    let of_fewer = WITHOUT_CONVERSATIONS.map(|name| (name, &WITH_FEWER_VALUES[..]));
    let command = of_fewer.into_iter().chain(OF_COMMANDS).fold(command, with_helps);
    let command = REFUSED.into_iter().chain(WITHOUT_EFFECT).fold(command, without_flags);
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

/// Whether a command accepts a workload.
pub fn accepts_workload(command: &str, workload: &str) -> bool {
    match workload {
        "conversation" => command != "predict" && !WITHOUT_CONVERSATIONS.contains(&command),
        "blocks" => command != "predict",
        _ => true,
    }
}

/// Replaces the help texts of flags of the command `name`.
fn with_helps(all: Command, (name, helps): (&str, &[(&'static str, &'static str)])) -> Command {
    all.mut_subcommand(name, |command| {
        helps.iter().fold(command, |command, (id, help)| {
            command.mut_arg(id, |it| it.help(*help).long_help(*help))
        })
    })
}

/// Hides flags of the command `name`.
fn without_flags(all: Command, (name, flags): (&str, &[&'static str])) -> Command {
    all.mut_subcommand(name, |command| {
        flags.iter().fold(command, |command, id| command.mut_arg(*id, |it| it.hide(true)))
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
