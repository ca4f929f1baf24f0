//! Judges whether the results of a run are a success. A run is not a success if it was interrupted, if its server
//! died, if too many requests failed, if `--stop-when-saturated` ended a pass, if a search or a sweep has no usable
//! answer, or if an objective was missed. With `Strictness::Strict`, a suspect run, an undecided objective and an
//! undecided search are not a success either. Changes no result.

use std::path::Path;

use inferometer_analysis::verdict::{Met, Validity, Verdict};
use inferometer_analysis::{Cell, PassSummary, Summary};
use inferometer_model::{StopReason, code, digits::percent};
use inferometer_plan::{Plan, Procedure, TargetPlan};
use inferometer_report::against_limit;

use crate::results::judged_answers::{self, judge_searches, judge_sweeps};
use crate::{Context, Finished, Shortfall};

/// How strictly results are judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    /// A suspect run, an undecided objective and an undecided search do not count as failures.
    #[default]
    Lenient,
    /// A suspect run, an undecided objective and an undecided search count as failures.
    Strict,
}

/// Judges a run that has ended.
///
/// # Errors
/// The shortfall of the run; if there are several, the most serious.
pub fn judge(
    plan: &Plan,
    context: &Context,
    finished: &Finished,
    strictness: Strictness,
) -> Result<(), Shortfall> {
    let summary = &finished.summary;
    if finished.interrupted {
        return Err(Shortfall::Interrupted(format!(
            "interrupted; the records are kept as run {}; to continue: {}",
            summary.run_id,
            resume_command(plan, context, &summary.run_id)
        )));
    }
    judge_results(summary, plan.max_failures, strictness)
}

/// Judges the results of a prediction, or of a run that was not interrupted. `max_failures` is the share of requests
/// that may fail, from 0 to 1.
///
/// # Errors
/// The errors of [`judge`].
pub fn judge_results(
    summary: &Summary,
    max_failures: f64,
    strictness: Strictness,
) -> Result<(), Shortfall> {
    if let Some(died) = summary.findings.iter().find(|f| f.is(code::SERVER_DIED)) {
        let place = died.place.as_deref().unwrap_or("the run");
        return Err(Shortfall::Failed(format!("{place}: {}", died.message)));
    }
    if let Some(failed) = stops(summary).find(|stop| matches!(stop, Shortfall::Failed(_))) {
        return Err(failed);
    }
    let has_trials = !summary.searches.is_empty() || !summary.sweeps.is_empty();
    let failed = match has_trials {
        true => judged_answers::nothing_completed(summary),
        false => too_many_failures(summary, max_failures),
    };
    if let Some(why) = failed {
        return Err(Shortfall::Failed(why));
    }
    if let Some(missed) = stops(summary).next() {
        return Err(missed);
    }
    judge_searches(&summary.searches)?;
    judge_sweeps(&summary.sweeps)?;
    let missed = missed_objectives(summary);
    if !missed.is_empty() {
        return Err(Shortfall::Objective(format!("not met: {}", against_limit::joined(&missed))));
    }
    if strictness == Strictness::Lenient {
        return Ok(());
    }
    if let Some(why) = suspect(summary) {
        return Err(why);
    }
    judged_answers::undecided(&summary.searches)
        .map_or(Ok(()), |why| Err(Shortfall::Undecided(why)))
}

/// Why a run or a prediction is suspect; `None` if it is not suspect. If only undecided objectives make it suspect,
/// nothing is wrong with its figures.
pub(crate) fn suspect(summary: &Summary) -> Option<Shortfall> {
    let Verdict { validity, reasons, slo, .. } = &summary.verdict;
    if *validity != Validity::Suspect {
        return None;
    }
    // Each undecided objective is one of the reasons.
    let reasons_for = slo.iter().filter(|objective| objective.undecided.is_some()).count();
    if reasons.len() == reasons_for {
        let open = slo.iter().filter(|objective| objective.outcome() == Met::Undecided);
        let open = open.map(|objective| {
            let notes: Vec<&str> = objective.notes().collect();
            let figure = against_limit::objective(objective);
            format!("{figure} ({}): {}", objective.place, notes.join("; "))
        });
        let open = against_limit::joined(&open.collect::<Vec<_>>());
        return Some(Shortfall::Undecided(format!("not decided: {open}")));
    }
    // Full stops are removed, because these sentences become parts of one sentence.
    let reasons: Vec<&str> = reasons.iter().map(|reason| reason.trim_end_matches('.')).collect();
    let what = if summary.predicted { "prediction" } else { "run" };
    Some(Shortfall::Suspect(format!("the {what} is suspect: {}", reasons.join("; "))))
}

/// What the passes that ended early miss, in the order of the passes. A pass that a time limit ended misses nothing.
fn stops(summary: &Summary) -> impl Iterator<Item = Shortfall> {
    let stop = |cell: &Cell, pass: &PassSummary| {
        let reason = pass.stopped?;
        let why = format!("{}, {}: {}", cell.plan(), pass.label(), reason.name());
        match reason {
            StopReason::ErrorRate => Some(Shortfall::Failed(why)),
            StopReason::Saturated => Some(Shortfall::Objective(why)),
            StopReason::MaxTime => None,
        }
    };
    let passes = summary.cells.iter().flat_map(|cell| cell.passes.iter().map(move |it| (cell, it)));
    passes.filter_map(move |(cell, pass)| stop(cell, pass))
}

/// The objectives that were not met, each with its figure, its cell and pass. Undecided objectives are not among them.
fn missed_objectives(summary: &Summary) -> Vec<String> {
    let missed = summary.verdict.slo.iter().filter(|objective| objective.outcome() == Met::No);
    missed
        .map(|objective| format!("{} ({})", against_limit::objective(objective), objective.place))
        .collect()
}

/// Why the run counts as failed: a pass has no completed request, or too many failed requests. `None` if the run
/// does not count as failed. `limit` is the share of requests that may fail, from 0 to 1.
fn too_many_failures(summary: &Summary, limit: f64) -> Option<String> {
    for cell in &summary.cells {
        for pass in &cell.passes {
            let place = format!("{}, {}", cell.plan(), pass.kind.name().replace('_', " "));
            let outcomes = &pass.outcomes;
            if outcomes.complete == 0 {
                return Some(format!("{place}: no request completed ({outcomes})"));
            }
            let [failed, of] = failures(pass);
            if failed as f64 > limit * of as f64 {
                return Some(format!(
                    "{place}: {failed} of {of} requests failed, more than --max-failures {}% ({outcomes})",
                    percent(limit)
                ));
            }
        }
    }
    None
}

/// The number of failed requests of a pass, and the number of its requests. If the pass was ended early, the
/// cancelled and skipped requests are in neither number; requests whose clients left never are.
pub(crate) fn failures(pass: &PassSummary) -> [u64; 2] {
    let outcomes = &pass.outcomes;
    let ended_early = match pass.stopped {
        Some(_) => outcomes.cancelled + outcomes.skipped,
        None => 0,
    };
    [outcomes.failed() - ended_early, outcomes.total() - outcomes.abandoned - ended_early]
}

/// The command that resumes a run.
fn resume_command(plan: &Plan, context: &Context, run: &str) -> String {
    let (file, name) = match &context.origin.group {
        Some(group) => ("PLAN.toml ", group.as_str()),
        None => ("", run),
    };
    let store = match context.store.as_path() {
        store if store == Path::new("inferometer.db") => String::new(),
        store => format!(" --store '{}'", store.display()),
    };
    let headers: String = match &plan.target {
        // The values of headers may be secrets and are not stored.
        TargetPlan::Server { header_names, .. } => {
            header_names.iter().map(|name| format!(" --header '{name}: ...'")).collect()
        }
        TargetPlan::Embedded { .. } => String::new(),
    };
    let command = match plan.procedure {
        Procedure::Search(_) => "search",
        Procedure::Sweep(_) => "sweep",
        // A comparison cannot be resumed.
        Procedure::Passes | Procedure::Ab(_) => "run",
    };
    format!("inferometer {command} {file}--resume {name}{store}{headers}")
}
