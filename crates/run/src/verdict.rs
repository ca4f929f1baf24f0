//! What the results of a run fall short of: an interruption, failures, objectives, and figures that the
//! instrument does not vouch for. It changes no result.

use std::path::Path;

use inferometer_analysis::summary::Summary;
use inferometer_analysis::verdict::Validity;
use inferometer_model::finding::code;
use inferometer_plan::{Plan, TargetPlan};

use crate::context::Context;
use crate::error::Shortfall;
use crate::search_text;
use crate::session::Finished;

/// How strictly results are judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    /// A suspect run is none that fell short.
    #[default]
    Lenient,
    /// The instrument must vouch for the figures.
    Strict,
}

/// Judges a run that was carried out.
///
/// # Errors
/// What it falls short of; of several things the gravest.
pub fn judge(
    plan: &Plan,
    context: &Context,
    finished: &Finished,
    strictness: Strictness,
) -> Result<(), Shortfall> {
    let summary = &finished.summary;
    if finished.interrupted {
        return Err(Shortfall::Interrupted(format!(
            "interrupted; what was recorded is kept as run {}; to go on: {}",
            summary.run_id,
            resume_command(plan, context, &summary.run_id)
        )));
    }
    judge_results(summary, plan.max_failures, strictness)
}

/// Judges the results of a run that was not interrupted. `max_failures` is the share of requests that
/// may fail.
///
/// # Errors
/// As [`judge`].
pub fn judge_results(
    summary: &Summary,
    max_failures: f64,
    strictness: Strictness,
) -> Result<(), Shortfall> {
    if let Some(died) = summary.findings.iter().find(|f| f.is(code::SERVER_DIED)) {
        let place = died.place.as_deref().unwrap_or("the run");
        return Err(Shortfall::Failed(format!("{place}: {}", died.message)));
    }
    let failed = match summary.searches.is_empty() {
        false => search_text::nothing_completed(summary),
        true => too_many_failures(summary, max_failures),
    };
    if let Some(why) = failed {
        return Err(Shortfall::Failed(why));
    }
    search_text::judge(&summary.searches)?;
    let missed = missed_objectives(summary);
    if !missed.is_empty() {
        return Err(Shortfall::Objective(format!("not met: {}", missed.join("; "))));
    }
    if strictness == Strictness::Strict && summary.verdict.validity == Validity::Suspect {
        return Err(Shortfall::Suspect(format!(
            "the run is suspect: {}",
            summary.verdict.reasons.join("; ")
        )));
    }
    Ok(())
}

/// The objectives that were not met, each with where that was.
pub fn missed_objectives(summary: &Summary) -> Vec<String> {
    let missed = summary.verdict.slo.iter().filter(|objective| !objective.met);
    missed.map(|objective| format!("{} ({})", objective.objective, objective.place)).collect()
}

/// Why the run counts as failed: a pass without a completed request, or with too many others.
pub fn too_many_failures(summary: &Summary, limit: f64) -> Option<String> {
    for cell in &summary.cells {
        for pass in &cell.passes {
            let place = format!("{}, {}", cell.plan(), pass.kind.name().replace('_', " "));
            let outcomes = &pass.outcomes;
            if outcomes.complete == 0 {
                return Some(format!("{place}: no request completed ({outcomes})"));
            }
            let share = outcomes.failed() as f64 / outcomes.total() as f64;
            if share > limit {
                return Some(format!(
                    "{place}: {} of {} requests failed, more than --max-failures {}% ({outcomes})",
                    outcomes.failed(),
                    outcomes.total(),
                    limit * 100.0
                ));
            }
        }
    }
    None
}

/// The command that resumes a run.
fn resume_command(plan: &Plan, context: &Context, run: &str) -> String {
    let (file, name) = match context.facts.get("group") {
        Some(group) => ("PLAN.toml ", group.as_str()),
        None => ("", run),
    };
    let store = match context.store.as_path() {
        store if store == Path::new("inferometer.db") => String::new(),
        store => format!(" --store '{}'", store.display()),
    };
    let headers: String = match &plan.target {
        // Their values may be secrets, and are not kept.
        TargetPlan::Server { header_names, .. } => {
            header_names.iter().map(|name| format!(" --header '{name}: ...'")).collect()
        }
        TargetPlan::Embedded { .. } => String::new(),
    };
    let command = if plan.search.is_some() { "search" } else { "run" };
    format!("inferometer {command} {file}--resume {name}{store}{headers}")
}
