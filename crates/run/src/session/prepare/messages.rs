//! The notices that the user sees before the measurement. This module makes no decision.

use std::time::Duration;

use inferometer_model::{PassPlan, Target, digits};
use inferometer_plan::{Plan, ab::AbPlan, search::SearchPlan, sweep::SweepPlan};
use inferometer_report::progress::Notice;

use crate::{DurationEstimate, Events, estimate::bound};

/// The model and the server, in one line.
pub(crate) fn title(target: &Target) -> String {
    let engine = target.engine.as_deref().unwrap_or("an unknown server");
    let version = target.engine_version.as_deref().unwrap_or_default();
    let simulated = if target.simulated { " (simulation)" } else { "" };
    format!("{} on {engine} {version}{simulated}", target.model)
}

/// Announces the server.
pub(crate) fn server(events: &Events, target: &Target) {
    let (engine, version) = (target.engine.clone(), target.engine_version.clone());
    events.say(&match target.simulated {
        true => Notice::Simulating {
            model: target.model.clone(),
            engine,
            version,
            profile: target.profile.clone(),
        },
        false => Notice::Identified { url: target.url.clone(), engine, version },
    });
}

/// Announces the model and the passes that will be measured. A concurrency and a rate are two loads, measured one after
/// the other, which is also told.
pub(crate) fn measuring(events: &Events, target: &Target, plan: &Plan) {
    let mut passes: Vec<String> = Vec::new();
    for pass in plan.cells.iter().flat_map(|&cell| plan.passes_of(cell)) {
        let pass = digits::of_load(&pass.to_string());
        if !passes.contains(&pass) {
            passes.push(pass);
        }
    }
    events.say(&Notice::Measuring {
        model: target.model.clone(),
        workload: plan.workload.name().to_owned(),
        dialect: target.dialect.clone(),
        cells: plan.cells.len(),
        passes,
    });
    let has = |is: fn(&PassPlan) -> bool| plan.passes.iter().any(is);
    if has(|pass| matches!(pass, PassPlan::Closed(_)))
        && has(|pass| matches!(pass, PassPlan::Open(_)))
    {
        events.say(&Notice::TwoLoads);
    }
}

/// Announces the goal of a search, and its maximum cost.
pub(crate) fn search(events: &Events, plan: &Plan, search: &SearchPlan, guess: DurationEstimate) {
    let objectives = search.criteria.iter().map(|criterion| criterion.text.clone());
    events.say(&Notice::Searching {
        over: search.over,
        objectives: objectives.collect(),
        precision: search.precision,
        confidence: search.confidence,
    });
    events.say(&bound::of_search(plan, search, longest(guess)));
    bound::advice(plan).iter().for_each(|advice| events.say(advice));
}

/// Announces the highest load of a sweep, and its maximum cost.
pub(crate) fn sweep(events: &Events, plan: &Plan, sweep: &SweepPlan) {
    events.say(&bound::of_sweep(plan, sweep, None));
    bound::advice(plan).iter().for_each(|advice| events.say(advice));
}

/// Announces the maximum cost of a comparison.
pub(crate) fn ab(events: &Events, plan: &Plan, ab: &AbPlan, guess: DurationEstimate) {
    events.say(&bound::of_ab(plan, ab, longest(guess)));
}

fn longest(guess: DurationEstimate) -> Option<Duration> {
    guess.map(|(one, other)| one.max(other))
}

/// Announces the estimated duration of the run.
pub(crate) fn estimate(events: &Events, plan: &Plan, guess: DurationEstimate) {
    let gaps = plan.passes.iter().filter_map(|pass| match pass {
        PassPlan::Conversations(jobs) if jobs.script.are_jobs => Some(jobs.shortest_s()),
        _ => None,
    });
    let least_s = gaps.sum::<f64>() * f64::from(plan.repeat.at_least);
    events.say(&match guess {
        Some((one, other)) => Notice::Estimate {
            least_s: one.min(other).as_secs_f64(),
            most_s: one.max(other).as_secs_f64(),
        },
        None if least_s >= 1.0 => Notice::EstimateOfGaps { least_s },
        None => Notice::EstimateUnknown,
    });
}
