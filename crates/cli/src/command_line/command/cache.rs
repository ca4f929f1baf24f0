//! `cache`: measures a prefix cache with prompts that share their begins. It is a run of a synthetic trace.

use clap::{Args, ValueEnum};
use inferometer_plan::spec::PlanCommand;
use inferometer_workload::jobs::synthetic::PREFIX;
use serde_json::json;

use super::run::run_with;
use super::run_flags::RunArgs;
use super::settings::Settings;
use crate::command_line::Failure;

/// The flags of `cache`.
#[derive(Args)]
pub struct CacheArgs {
    /// What to measure
    #[arg(value_enum)]
    experiment: Experiment,
    /// Tokens of each prompt
    #[arg(long, value_name = "N", default_value_t = 2048, help_heading = "Cache", value_parser = clap::value_parser!(u32).range(64..=1_000_000))]
    prompt_tokens: u32,
    /// Tokens that are sent before a prompt comes again, at most. Give more than the cache can hold,
    /// such as twice the `GPU KV cache size` in vLLM's log (capacity)
    #[arg(
        long,
        value_name = "TOKENS",
        help_heading = "Cache",
        required_if_eq("experiment", "capacity")
    )]
    up_to: Option<u64>,
    #[command(flatten)]
    run: RunArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Experiment {
    /// How much time of the first token a cached token saves: prompts share 0 to nearly 100 % with
    /// earlier ones
    Hits,
    /// How many tokens the cache keeps, and what the loss of a prompt costs: prompts come again
    /// after others
    Capacity,
}

/// Measures the cache, one request after the other unless a load is given.
///
/// # Errors
/// As `run`; and if another workload is given.
pub fn cache(arguments: CacheArgs) -> Result<(), Failure> {
    let settings = Settings::read()?;
    let run = settings.switched(arguments.run, PlanCommand::Run);
    let mut keys = run.keys()?;
    if let Some(key) = ["workload", "dataset"].into_iter().find(|key| keys.contains_key(*key)) {
        let why = "makes its own prompts; leave the flag out, or play your prompts with `inferometer run`";
        return Err(Failure::usage(format!("--{key}: `cache` {why}")));
    }
    let length = arguments.prompt_tokens;
    let dataset = match (arguments.experiment, arguments.up_to) {
        (Experiment::Capacity, Some(up_to)) => format!("reuse,length={length},up-to={up_to}"),
        _ => format!("hits,length={length}"),
    };
    keys.insert("workload".to_owned(), json!("agents"));
    keys.insert("dataset".to_owned(), json!(format!("{PREFIX}{dataset}")));
    if !keys.contains_key("rate") {
        keys.entry("concurrency").or_insert_with(|| json!([1]));
    }
    run_with(&run, &settings, keys)
}
