//! What the user is told before anything is measured. Never decides anything.

use std::io::{IsTerminal, stderr, stdin};
use std::time::Duration;

use inferometer_model::finding::{Finding, Severity};
use inferometer_model::target::Target;
use inferometer_plan::Plan;
use inferometer_plan::search::SearchPlan;
use inferometer_workload::Note;

use crate::exit::Failure;
use crate::run::estimate::spoken;
use crate::run::progress::Progress;
use crate::run::prompts::BATCH;
use crate::run::{Options, bound};

/// What of the prompts of a pass is not as asked for; `of_a_bound` where an earlier pass had no
/// number of requests, so that what it sent is less than what is counted for it.
pub(super) fn note(note: &Note, of_a_bound: bool) -> Finding {
    let mut message = note.to_string();
    if of_a_bound && note.depends_on_earlier() {
        message += "; this is the most that it can be, for an earlier pass had no number of \
                    requests, and is counted with all that is set aside for it";
    }
    Finding::new("prompts_not_as_asked", Severity::Note, message)
}

/// What the identity of the workload does not cover.
pub(super) fn identity(plan: &Plan) -> Option<Finding> {
    let passes = plan.cells.iter().flat_map(|&cell| plan.passes_of(cell));
    let uncounted = passes.filter(|pass| pass.requests().is_none()).count();
    let message = format!(
        "passes without a number of requests: {uncounted}. Their prompts are made while they are \
         sent, and workload_hash covers the first {BATCH} of each; the others follow from seed, \
         salt and plan"
    );
    let finding = Finding::new("workload_hash_covers_a_part", Severity::Note, message);
    (uncounted > 0).then(|| finding.advise("give --requests to have every request in the hash"))
}

/// What is measured, in one line.
pub(super) fn title(target: &Target) -> String {
    let engine = target.engine.as_deref().unwrap_or("a server of unknown make");
    let version = target.engine_version.as_deref().unwrap_or_default();
    let simulated = if target.simulated { " (simulation)" } else { "" };
    format!("{} on {engine} {version}{simulated}", target.model)
}

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

/// What is looked for, and how much it may cost.
pub(super) fn search(
    progress: Progress,
    plan: &Plan,
    search: &SearchPlan,
    guess: Option<(Duration, Duration)>,
) {
    let objectives: Vec<&str> =
        search.criteria.iter().map(|criterion| criterion.text.as_str()).collect();
    progress.say(&format!(
        "searching the highest {} at which {} holds, within {}% at {}% confidence",
        search.over,
        objectives.join(" and "),
        search.precision * 100.0,
        search.confidence * 100.0
    ));
    let most = guess.map(|(one, other)| one.max(other));
    progress.say(&bound::words(plan, search, most));
    bound::advice(plan).into_iter().for_each(|advice| progress.say(advice));
}

/// Runs that may take longer than this are begun when a person has agreed.
const LONG: Duration = Duration::from_secs(600);

/// Asks the person at the terminal, if there is one, whether a long run is to begin.
///
/// # Errors
/// When it is not.
pub(super) fn consent(
    options: &Options,
    guess: Option<(Duration, Duration)>,
) -> Result<(), Failure> {
    let is_long = guess.is_some_and(|(one, other)| one.max(other) > LONG);
    if !(options.ask && is_long && stdin().is_terminal() && stderr().is_terminal()) {
        return Ok(());
    }
    eprint!("begin? [Y/n] (--yes begins without asking) ");
    let mut answer = String::new();
    let read = stdin().read_line(&mut answer);
    if read.is_ok() && agrees(&answer) {
        return Ok(());
    }
    Err(Failure::not_carried_out("not begun: nothing was measured"))
}

/// Enter agrees; the end of the input does not.
fn agrees(answer: &str) -> bool {
    matches!(answer.to_lowercase().as_str(), "\n" | "\r\n")
        || answer.trim().to_lowercase().starts_with('y')
}

/// How long it will take, as far as one answer tells.
pub(super) fn estimate(progress: Progress, guess: Option<(Duration, Duration)>) {
    let in_order = guess.map(|(one, other)| (one.min(other), one.max(other)));
    match in_order {
        // Two spans that read alike are one.
        Some((least, most)) if spoken(least) == spoken(most) => {
            progress.say(&format!("estimate: {}", spoken(least)));
        }
        Some((least, most)) => progress.say(&format!(
            "estimate: between {} and {}, by how well the server batches",
            spoken(least),
            spoken(most)
        )),
        None => progress.say(
            "estimate: unknown: a first request was not answered, or turns of conversations grow by \
             answers that are not known",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enter_and_yes_agree_and_nothing_else_does() {
        assert!(["\n", "\r\n", "y\n", "Yes\n", " Y\n"].into_iter().all(agrees));
        assert!(["", "n\n", "no\n", " \n", "x\n"].into_iter().all(|answer| !agrees(answer)));
    }
}
