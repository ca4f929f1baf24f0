//! What the user is told before anything is measured. Never decides anything.

use std::time::Duration;

use inferometer_core::plan::Plan;
use inferometer_core::summary::Target;

use crate::run::estimate::spoken;
use crate::run::progress::Progress;

/// What is measured against what.
pub(super) fn announce(progress: Progress, target: &Target, plan: &Plan) {
    let engine = target.engine.as_deref().unwrap_or("server of unknown make");
    let version = target.engine_version.as_deref().unwrap_or("of unknown version");
    if target.simulated {
        let profile = target.profile.as_deref().unwrap_or("unknown");
        progress.say(&format!(
            "SIMULATION: the embedded engine plays {} under {engine} {version} (profile {profile})",
            target.model
        ));
    } else {
        progress.say(&format!("target: {} is {engine} {version}", target.url));
    }
    let mut passes: Vec<String> = Vec::new();
    for pass in plan.cells.iter().flat_map(|&cell| plan.passes_of(cell)) {
        let pass = pass.to_string();
        if !passes.contains(&pass) {
            passes.push(pass);
        }
    }
    progress.say(&format!(
        "measuring {} ({} prompts, {}) in {} {}: {}",
        target.model,
        plan.workload.name(),
        target.dialect,
        plan.cells.len(),
        if plan.cells.len() == 1 { "cell" } else { "cells" },
        passes.join("; ")
    ));
}

/// How long it will take, as far as one answer tells.
pub(super) fn estimate(progress: Progress, guess: Option<(Duration, Duration)>) {
    let in_order = guess.map(|(one, other)| (one.min(other), one.max(other)));
    match in_order {
        Some((least, most)) if least == most => {
            progress.say(&format!("estimate: {}", spoken(least)));
        }
        Some((least, most)) => progress.say(&format!(
            "estimate: between {} and {}, by how well the server batches",
            spoken(least),
            spoken(most)
        )),
        None => progress.say(
            "estimate: unknown: a first request was not answered, or lengths are the requests' own",
        ),
    }
}
