//! Which keys of a plan a command does not take, and why. The parser of the command has no flags for them, and
//! [`Spec::resolve`] refuses most of them in a plan file too.

use super::{
    AgentKeys, BlockKeys, ConversationKeys, MediaKeys, Mistakes, PoolingKeys, Spec, WorkloadKeys,
};

/// A command that measures or simulates a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanCommand {
    /// Measures the passes of a plan.
    Run,
    /// Simulates the passes of a plan.
    Predict,
    /// Measures or simulates a search.
    Search,
    /// Measures or simulates a sweep.
    Sweep,
    /// Measures or simulates a comparison in blocks.
    Ab,
}

use PlanCommand::{Ab, Predict, Search, Sweep};

inferometer_model::names!(PlanCommand {
    Run => "run", Predict => "predict", Search => "search", Sweep => "sweep", Ab => "ab",
});

impl Spec {
    /// Whether the spec says nothing about lengths, prompts and loads, so that they can be chosen for its server.
    pub fn leaves_load_open(&self) -> bool {
        self.given(LOADS).is_empty()
            && self.given(LENGTHS_AND_PROCEDURES).is_empty()
            && self.workload == WorkloadKeys::default()
    }
}

/// Whether a plan file may have a key that its command does not take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InFile {
    /// The key is a mistake.
    Refused,
    /// The key has no effect, because the file may be a plan for other commands too; or the code that resolves the key
    /// refuses it.
    Accepted,
}

use InFile::{Accepted, Refused};

/// Keys that a command does not take.
struct LeftOut {
    command: PlanCommand,
    keys: &'static [&'static str],
    in_file: InFile,
    why: &'static str,
}

/// A table with one row for the keys that a command leaves out for the same reason.
macro_rules! left_out {
    ($($command:ident $in_file:ident $keys:expr => $why:expr;)*) => {
        &[$(LeftOut { command: $command, keys: $keys, in_file: $in_file, why: $why }),*]
    };
}

/// Keys for loads and for the repetition of passes.
const LOADS: &[&str] = &[
    "passes", "one_by_one", "requests", "concurrency", "rate", "stages", "replay", "replay_speed",
    "duration", "class", "repeat", "until", "max_repeats", "dump_workload", "stop_when_saturated",
    "stop_at_error_rate",
];
/// Keys for lengths, and tables of procedures that choose loads.
const LENGTHS_AND_PROCEDURES: &[&str] =
    &["input_lengths", "output_lengths", "search", "sweep", "ab", "goodput"];
/// Keys about a server and the connection to it, and keys that have no effect in virtual time.
const OF_SERVERS: &[&str] = &[
    "target", "balance", "session_header", "session_cookie", "traceparent", "server_card",
    "endpoint", "dialect", "speed", "header", "api_key_env", "ca_cert", "insecure", "client_cert",
    "client_key", "proxy", "wait", "server_metrics", "metrics_url", "metrics_period", "dcgm_url",
    "cards", "reset_prefix_cache", "count_template", "token_ids", "extra_body", "temperature",
    "ignore_eos", "split_think", "loops", "timeout", "connect_timeout", "first_token_timeout",
    "event_timeout",
];

const CONVERSATIONS: &str = "belongs to conversations, which only `inferometer run` measures";
const FEWER: &str = "has no effect: the command chooses the number of requests; leave it out";
const OWN_LOAD: &str = "has its own load, but this command chooses the load";
const SCALE: &str = "scales arrivals to the exact rate, but this command does not; leave it out";
const JOBS: &str = "agents cannot be used: its jobs have calls that wait for each other; use `inferometer run`, \
                    `search` or `predict`";
const OF_TEXT: &str =
    "cannot be used: a comparison in blocks is of servers that generate text; leave it out";
const CHOSEN: &str = "is for a load that you choose (`inferometer run` or `predict`); leave it out";
const BLOCK_ENDS: &str = "cannot be used: a block that ends early cannot be compared; leave it out";
const BLOCK_ARRIVALS: &str = "cannot be used: each block would have different arrivals; give one --rate or \
                              --concurrency";

static LEFT_OUT: &[LeftOut] = left_out! {
    Search Refused LOADS =>
        "cannot be set: a search chooses the loads of its trials; leave it out (use --from, --to, --start and \
         --max-requests to limit them)";
    Search Refused &["replay_rows"] => OWN_LOAD;
    Search Refused &["scale"] => SCALE;
    Search Accepted &["prompts_per_group", "block_concurrency"] => FEWER;
    Search Accepted ConversationKeys::NAMES => CONVERSATIONS;
    Search Refused &["abandon"] => CHOSEN;
    Sweep Refused &["abandon"] => CHOSEN;
    Ab Refused &["abandon", "class"] => CHOSEN;
    Search Refused &["jobs"] => "has no effect: a search chooses the number of jobs; leave it out";
    Sweep Refused LOADS =>
        "cannot be set: a sweep chooses the loads of its trials; leave it out (use --by, --max-concurrency, \
         --max-rate and --max-requests to limit them)";
    Sweep Refused &["replay_rows"] => OWN_LOAD;
    Sweep Refused &["scale"] => SCALE;
    Sweep Accepted &["prompts_per_group", "block_concurrency"] => FEWER;
    Sweep Accepted ConversationKeys::NAMES => CONVERSATIONS;
    Sweep Accepted AgentKeys::OWN => JOBS;
    Sweep Refused &["max_failures"] => "is not used by a sweep, which goes up to saturation; leave it out";
    Sweep Refused &["search"] =>
        "cannot be combined with [sweep], because both choose the loads; leave out one of them";
    Ab Refused &["search"] => "searches for a load, but a comparison has a fixed one; leave it out";
    Ab Refused &["sweep"] => "raises the load, but a comparison has a fixed one; leave it out";
    Ab Refused &["stop_when_saturated", "stop_at_error_rate"] => BLOCK_ENDS;
    Ab Refused &["repeat", "until", "max_repeats"] =>
        "cannot be used: blocks are repeated until the answer is certain; leave it out";
    Ab Refused &["duration"] => "cannot be used: a block has a number of requests; give --requests";
    Ab Refused &["stages"] => "cannot be used: the load of a block is constant; give one --rate or --concurrency";
    Ab Refused &["replay", "replay_rows", "replay_speed"] => BLOCK_ARRIVALS;
    Ab Accepted &["trace_scale"] => BLOCK_ARRIVALS;
    Ab Refused &["price", "gpus", "price_split"] =>
        "is for one server; leave it out (`inferometer compare` takes a price)";
    Ab Refused &["slo", "goodput"] => "is for one server (`inferometer run`); for two servers give --gate";
    Ab Refused &["dump_workload"] => "cannot be used: two servers would write the same file; leave it out";
    Ab Accepted &["prompts_per_group", "block_concurrency"] =>
        "has no effect: a block has its own number of requests; leave it out";
    Ab Accepted ConversationKeys::NAMES => CONVERSATIONS;
    Ab Accepted AgentKeys::OWN => JOBS;
    Predict Accepted OF_SERVERS => "has no effect on a prediction, which contacts no server; leave it out";
    Predict Accepted &["cooldown", "repeat", "until", "max_repeats", "goodput", "max_failures", "failures_as_inf"] =>
        "is not used by a prediction of passes; leave it out";
    Predict Accepted &["over_limit"] => "is always `queue` in a prediction; leave it out";
    Predict Accepted ConversationKeys::NAMES => CONVERSATIONS;
    Ab Refused PoolingKeys::NAMES => OF_TEXT;
    Predict Accepted PoolingKeys::NAMES => "cannot be predicted: the engine model generates text; leave it out";
    Predict Accepted MediaKeys::NAMES =>
        "cannot be predicted: the engine model does not know the cost of pictures and sounds; leave it out";
    Predict Accepted &["adapters"] =>
        "cannot be predicted: the engine model does not know the cost of adapters; leave it out";
    Predict Accepted BlockKeys::NAMES =>
        "belongs to the workload blocks, which only a measurement can send: its output lengths are unknown before";
};

/// Workloads that a command does not take.
const WORKLOADS: [(PlanCommand, &str, InFile, &str); 7] = [
    (Sweep, "agents", Refused, JOBS),
    (Ab, "agents", Refused, JOBS),
    (Search, "conversation", Refused, OWN_LOAD),
    (Sweep, "conversation", Refused, OWN_LOAD),
    (
        Ab,
        "conversation",
        Refused,
        "conversation cannot be used: a block has a number of requests, but conversations have turns that depend on \
         answers; give another --workload, or another --scenario if it has conversations",
    ),
    (Predict, "conversation", Accepted, CONVERSATIONS),
    (Predict, "blocks", Accepted, "a prediction does not know the lengths of its outputs"),
];

/// The keys that a command does not take, each with the reason.
pub fn keys_left_out(command: PlanCommand) -> impl Iterator<Item = (&'static str, &'static str)> {
    let rows = LEFT_OUT.iter().filter(move |row| row.command == command);
    rows.flat_map(|row| row.keys.iter().map(|key| (*key, row.why)))
}

/// Whether a command takes a workload.
pub fn takes_workload(command: PlanCommand, workload: &str) -> bool {
    !WORKLOADS.iter().any(|row| (row.0, row.1) == (command, workload))
}

/// Adds a mistake for each key, and for the workload, that a plan file cannot have with this command. The value `false`
/// counts as not given.
pub(crate) fn refuse(spec: &Spec, command: PlanCommand, mistakes: &mut Mistakes) {
    let of_command = |row: &&LeftOut| row.command == command && row.in_file == Refused;
    for row in LEFT_OUT.iter().filter(of_command) {
        for key in spec.given(row.keys) {
            mistakes.add(key, row.why);
        }
    }
    let workload = spec.workload.name();
    for row in WORKLOADS.iter().filter(|row| (row.0, row.1, row.2) == (command, workload, Refused))
    {
        mistakes.add("workload", row.3);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::spec::{Known, known_keys};

    #[test]
    fn every_key_that_a_command_leaves_out_is_a_key_of_a_plan() {
        let known = known_keys();
        for command in PlanCommand::ALL {
            for (key, why) in keys_left_out(command) {
                assert!(known.iter().any(|name| name == key), "{key}");
                assert!(!why.is_empty());
            }
        }
        assert_eq!(keys_left_out(PlanCommand::Run).count(), 0);
    }

    #[test]
    fn every_refused_key_in_a_plan_file_has_its_error() {
        let texts = [
            "stages", "replay", "until", "slo", "goodput", "dump_workload", "price", "price_split",
            "abandon",
        ];
        let switches = ["replay_rows", "scale", "stop_when_saturated"];
        let lists = ["passes", "concurrency", "rate"];
        for row in LEFT_OUT.iter().filter(|row| row.in_file == Refused) {
            for key in row.keys {
                let value = match key {
                    _ if texts.contains(key) => json!("1"),
                    _ if switches.contains(key) => json!(true),
                    _ if lists.contains(key) => json!(["1"]),
                    &"search" | &"sweep" => json!({}),
                    &"class" => json!([{ "name": "a", "rate": 1, "input": 1, "output": 1 }]),
                    _ => json!(1),
                };
                let mut keys = json!({ row.command.name(): {}, *key: value });
                if row.command == Search {
                    keys["goodput"] = "ttft<1s".into();
                }
                let spec = Spec::from_keys(keys.as_object().cloned().unwrap()).unwrap();
                let known = Known { dialects: &[], models: &[], model_of_hub_id: |_| None };
                let told = spec.resolve(&known).unwrap_err();
                let is_told = told.iter().any(|one| one.key == *key && one.problem == row.why);
                assert!(is_told, "{} {key}: {told:?}", row.command.name());
            }
        }
    }
}
