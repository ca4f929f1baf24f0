//! `sweep`: raises the load from one request in flight until the server is saturated. Its flags are those of `run`, the
//! keys of `[sweep]` in a plan, and those of [`SweepArgs`].

use crate::{command_line::Failure, plan_file};
use clap::Args;
use inferometer_plan::spec::{PlanCommand, SweepSpec};

use super::run::{conclude, run_applied, run_with};
use super::run_flags::{RunArgs, given};
use super::settings::{Applied, Settings};
use super::{engine_flags::EngineFlags, search::in_virtual_time};

/// The flags of `sweep`.
#[derive(Args)]
pub struct SweepArgs {
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    sweep: SweepSpec,
    /// Sweep with the embedded engine in virtual time, which takes seconds and contacts no server.
    /// --model, --profile and the flags under Engine describe the engine
    #[arg(long, help_heading = "Sweep")]
    predict: bool,
    #[command(flatten)]
    engine: EngineFlags,
}

/// Runs the sweep.
pub fn sweep(mut arguments: SweepArgs) -> Result<(), Failure> {
    let settings = Settings::read()?;
    arguments.run = settings.switched(arguments.run, PlanCommand::Sweep);
    let SweepArgs { run, sweep, predict, engine } = &arguments;
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
