//! What is known of a run before it begins, as it is stored. Never changes afterwards.

use inferometer_model::target::{Environment, Target};
use inferometer_net::{Net, wall_clock_ns};
use inferometer_observe::Observer;
use inferometer_store::{RunHeader, RunId};

use super::said;
use crate::run::Resolved;
use crate::run::board::Run;
use crate::run::pass::Passes;
use crate::run::prompts::Shaper;

/// The header of a run that begins now.
pub(super) fn of_run(
    resolved: &Resolved,
    target: &Target,
    shaper: &Shaper,
    passes: &Passes,
    observer: &Observer,
) -> RunHeader {
    let wall_ns = wall_clock_ns();
    let started_unix_ns = i64::try_from(wall_ns).unwrap_or(i64::MAX);
    let monotonic_ns = i64::try_from(passes.net.now().0).unwrap_or(i64::MAX);
    let environment = Environment {
        tokenizer: Some(shaper.tokenizer.name()),
        salt: Some(resolved.salt.clone()),
        cards: observer.cards.iter().flat_map(|source| source.cards()).collect(),
        ..inferometer_observe::environment()
    };
    RunHeader {
        started_unix_ns,
        // Two runs of one second differ in the nanosecond or in the process.
        suffix: (wall_ns / 1_000) as u16 ^ (std::process::id() as u16).rotate_left(7),
        origin_unix_ns: started_unix_ns - monotonic_ns,
        plan: resolved.plan.clone(),
        workload_hash: None,
        body_hash: None,
        target: target.clone(),
        environment,
        predicted: false,
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// The same for those who look on.
pub(super) fn on_board(run: &RunId, header: &RunHeader) -> Run {
    Run {
        id: run.to_string(),
        title: said::title(&header.target),
        target: header.target.clone(),
        started_unix_ns: header.started_unix_ns,
    }
}
