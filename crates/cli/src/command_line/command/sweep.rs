//! `sweep`: raises the load from one request in flight until the server is saturated. Its flags are those of `run`, the
//! keys of `[sweep]` in a plan, and those of [`SweepArgs`].

use crate::plan_file;
use clap::Args;
use serde::Serialize;

use super::engine_flags::EngineFlags;
use super::run::{conclude, run_applied, run_with};
use super::run_flags::{RunArgs, given};
use super::search::in_virtual_time;
use super::settings::{Applied, Settings};
use crate::command_line::exit::Failure;

/// The flags of `sweep`. The help does not show flags that select the load, because a sweep chooses
/// the load.
#[derive(Args)]
pub struct SweepArgs {
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    sweep: SweepFlags,
    /// Sweep with the embedded engine in virtual time, which takes seconds and contacts no server.
    /// --model, --profile and the flags under Engine describe the engine
    #[arg(long, help_heading = "Sweep")]
    predict: bool,
    #[command(flatten)]
    engine: EngineFlags,
}

/// The keys of `[sweep]`, by the same names.
#[derive(Args, Serialize)]
#[command(next_help_heading = "Sweep")]
struct SweepFlags {
    /// Load that the sweep raises: concurrency (closed loops) or rate (open loops, with Poisson
    /// arrivals unless --burstiness sets another shape; only the first trial is a closed loop, with
    /// 1 request in flight) [default: concurrency]
    #[arg(long, value_name = "concurrency|rate")]
    by: Option<String>,
    /// Share of the saturated throughput that defines the knee [default: 95%]
    #[arg(long, value_name = "SHARE")]
    knee: Option<String>,
    /// Confidence level of all intervals [default: 95%]
    #[arg(long, value_name = "SHARE")]
    confidence: Option<String>,
    /// The sweep ends when the confidence interval of the knee is at most this wide, as a share of
    /// its lower end [default: 25%; 5% with --by rate]
    #[arg(long, value_name = "SHARE")]
    precision: Option<String>,
    /// Highest concurrency to try [default: 1024]
    #[arg(long, value_name = "N")]
    max_concurrency: Option<u32>,
    /// Highest rate to try (requests/s), with --by rate [default: no limit]
    #[arg(long, value_name = "RATE")]
    max_rate: Option<String>,
    /// Maximum number of requests of a cell, over all trials (measurements at one load) [default:
    /// 30000]
    #[arg(long, value_name = "N")]
    max_requests: Option<u64>,
    /// Maximum number of trials of a cell [default: 40]
    #[arg(long, value_name = "N")]
    max_trials: Option<u32>,
    /// Maximum time of a cell, such as 10m, including warm-up and pauses. Trials are made shorter
    /// so that they fit. A trial that is cut off by the limit counts if at least 5 of its requests
    /// completed [default: no limit]
    #[arg(long, value_name = "SPAN")]
    max_time: Option<String>,
    /// Number of cards of the server, for tokens per second per card [default: the cards of --cards
    /// that are observed; with --predict, the cards of the engine]
    #[arg(long, value_name = "N")]
    gpus: Option<u32>,
}

/// Runs the sweep.
pub fn sweep(mut arguments: SweepArgs) -> Result<(), Failure> {
    let settings = Settings::read()?;
    arguments.run = settings.switched(arguments.run);
    let SweepArgs { run, sweep, predict, engine } = &arguments;
    if run.junit.is_some() {
        return Err(Failure::usage(
            "junit (--junit): a sweep has no objectives that could be test cases; leave out --junit, or \
                use `inferometer search` for the highest load that meets objectives",
        ));
    }
    let mut keys = run.keys()?;
    keys.insert("sweep".to_owned(), given(sweep)?.into());
    if run.resume.is_some() {
        if *predict || !engine.given().is_empty() {
            return Err(Failure::usage(
                "--resume: continues a sweep with its own plan; leave out --predict and the engine \
                    flags",
            ));
        }
        return run_with(run, &settings, keys);
    }
    let Applied { keys, origins } = settings.apply(run.plan(), keys, run, None)?;
    if *predict {
        let place = plan_file::OverrideOrigin::Flags;
        let (spec, multi) = plan_file::merge_multi_target(run.plan(), keys, place)?;
        if !multi.targets.is_empty() {
            return Err(Failure::usage(
                "--predict: simulates one embedded engine; leave out [[target]]",
            ));
        }
        return conclude(run, in_virtual_time(&spec, run, engine));
    }
    if !engine.given().is_empty() {
        return Err(Failure::usage(
            "engine flags (--max-num-seqs, ...) apply to the embedded engine in virtual time: add \
                --predict",
        ));
    }
    run_applied(run, Applied { keys, origins }, None, None)
}
