//! Sends the messages that the user sees before the measurement. This module makes no decision.

use inferometer_load::PassPlan;
use inferometer_model::digits;
use inferometer_model::target::Target;
use inferometer_plan::Plan;
use inferometer_plan::search::SearchPlan;
use inferometer_plan::sweep::SweepPlan;

use crate::context::DurationEstimate;
use crate::estimate::in_words;
use crate::events::Events;
use crate::search_bound;

/// The model and the server, in one line.
pub(crate) fn title(target: &Target) -> String {
    let engine = target.engine.as_deref().unwrap_or("an unknown server");
    let version = target.engine_version.as_deref().unwrap_or_default();
    let simulated = if target.simulated { " (simulation)" } else { "" };
    format!("{} on {engine} {version}{simulated}", target.model)
}

/// Announces the server.
pub(crate) fn server(events: &Events, target: &Target) {
    let engine = target.engine.as_deref().unwrap_or("an unknown server");
    let version = target.engine_version.as_deref().unwrap_or("of unknown version");
    if target.simulated {
        let profile = target.profile.as_deref().unwrap_or("unknown");
        events.say(&format!(
            "SIMULATION: the embedded engine simulates {} with {engine} {version} (profile \
                {profile})",
            target.model
        ));
    } else {
        events.say(&format!("target: {} is {engine} {version}", target.url));
    }
}

/// Announces the model and the passes that will be measured.
pub(crate) fn measuring(events: &Events, target: &Target, plan: &Plan) {
    let mut passes: Vec<String> = Vec::new();
    for pass in plan.cells.iter().flat_map(|&cell| plan.passes_of(cell)) {
        let pass = digits::of_load(&pass.to_string());
        if !passes.contains(&pass) {
            passes.push(pass);
        }
    }
    events.say(&format!(
        "measuring {} ({} prompts, {}) in {} {}: {}",
        target.model,
        plan.workload.name(),
        target.dialect,
        plan.cells.len(),
        if plan.cells.len() == 1 { "cell" } else { "cells" },
        passes.join("; ")
    ));
    tell_of_two_loads(events, plan);
}

/// Tells the user that two loads run one after the other. The user may have meant one load: a rate with a limit on
/// requests in flight.
fn tell_of_two_loads(events: &Events, plan: &Plan) {
    let has = |is: fn(&PassPlan) -> bool| plan.passes.iter().any(is);
    let both = has(|pass| matches!(pass, PassPlan::Closed(_)))
        && has(|pass| matches!(pass, PassPlan::Open(_)));
    if both {
        events.say(
            "concurrency and rate are separate loads, measured one after the other; for an arrival \
                rate with a limit on requests in flight, give --rate with --max-in-flight",
        );
    }
}

/// Announces the goal of a search, and its maximum cost.
pub(crate) fn search(events: &Events, plan: &Plan, search: &SearchPlan, guess: DurationEstimate) {
    let objectives: Vec<&str> =
        search.criteria.iter().map(|criterion| criterion.text.as_str()).collect();
    events.say(&format!(
        "searching for the highest {} that meets {}, within {}% at {}% confidence",
        search.over,
        objectives.join(" and "),
        digits::percent(search.precision),
        digits::percent(search.confidence)
    ));
    let most = guess.map(|(one, other)| one.max(other));
    events.say(&search_bound::words(plan, search, most));
    search_bound::advice(plan).into_iter().for_each(|advice| events.say(&advice));
}

/// Announces the highest load of a sweep, and its maximum cost.
pub(crate) fn sweep(events: &Events, plan: &Plan, sweep: &SweepPlan) {
    events.say(&search_bound::words_of_sweep(plan, sweep));
    search_bound::advice(plan).into_iter().for_each(|advice| events.say(&advice));
}

/// Announces the estimated duration of the run.
pub(crate) fn estimate(events: &Events, guess: DurationEstimate) {
    let in_order = guess.map(|(one, other)| (one.min(other), one.max(other)));
    match in_order {
        // If both durations have the same text, it is printed once.
        Some((least, most)) if in_words(least) == in_words(most) => {
            events.say(&format!("estimate: {}", in_words(least)));
        }
        Some((least, most)) => events.say(&format!(
            "estimate: between {} and {}, depending on how well the server batches",
            in_words(least),
            in_words(most)
        )),
        None => events.say(
            "estimate: unknown (a first request was not answered, or the length of the prompts \
                depends on the answers, as in conversations)",
        ),
    }
}
