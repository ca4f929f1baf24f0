//! A search as text: one line for each trial, and one line for each answer. Also judges whether the answers are
//! sufficient.

use std::time::Duration;

use inferometer_analysis::pass::PassSummary;
use inferometer_analysis::search::{
    Measure, Overwhelmed, Search, SearchAnswer, SearchEnding, Trial, load_text,
};
use inferometer_analysis::summary::Summary;
use inferometer_model::digits::{Decimals, percent, with_unit};
use inferometer_model::outcome::OutcomeCounts;
use inferometer_plan::search::{Criterion, SearchPlan};
use inferometer_report::judgement::{Judgement, Verdict};
use inferometer_report::search::sentence;

use crate::error::Shortfall;
use crate::estimate::{about, in_words};

/// One line on the last trial: its result, the estimate so far, and the maximum time or number of requests left.
pub fn trial(plan: &SearchPlan, search: &Search) -> String {
    let Some((trial, overwhelmed)) = search.last() else { return String::new() };
    let shown = match overwhelmed {
        Some(by) => far_beyond(plan, by),
        None if trial.counted() == 0 => format!(
            "none of the {} requests is \
            counted",
            trial.requests
        ),
        None => measured(plan, trial),
    };
    let load = with_unit(&load_text(trial.load), plan.over.unit());
    let tiers = plan.tiers().into_iter().enumerate();
    let known: Vec<String> =
        tiers.filter_map(|(at, (name, _))| known(search, at, name.as_deref())).collect();
    let known = if known.is_empty() { String::new() } else { format!("; {}", known.join(", ")) };
    format!("    {load}: {shown}{known}{}", time_left(search))
}

fn far_beyond(plan: &SearchPlan, by: Overwhelmed) -> String {
    let Overwhelmed { criterion, missed, planned, cut_off } = by;
    let criterion = plan.criteria.get(criterion).map_or("", |it| it.text.as_str());
    let cut = match cut_off {
        0 => String::new(),
        cut => format!(" (ended early, with {cut} in flight or not sent)"),
    };
    format!("far too high: {missed} of {planned} requests certainly missed {criterion}{cut}")
}

fn measured(plan: &SearchPlan, trial: &Trial) -> String {
    let of = |(criterion, measure): (&Criterion, &Measure)| match criterion.needed() {
        Some(needed) => format!(
            "{:.2}% meet {} ({}% needed)",
            100.0 * measure.value,
            criterion.text,
            percent(needed)
        ),
        None => format!("a mean of {:.1} ms for {}", measure.value, criterion.text),
    };
    let shares: Vec<String> = plan.criteria.iter().zip(&trial.measured).map(of).collect();
    let are_met = plan.criteria.iter().enumerate();
    let misses = are_met.filter(|(index, it)| trial.is_met(*index, it) == Some(false)).count();
    let verdict = match (misses, trial.is_settled) {
        (0, true) => "met in this trial",
        (0, false) => "too short for a verdict on this load",
        (misses, _) if misses == plan.criteria.len() => "not met in this trial",
        _ => "not all met in this trial",
    };
    format!("{} of {} counted requests: {verdict}", shares.join(", "), trial.counted())
}

/// The estimate of a tier so far.
fn known(search: &Search, tier: usize, name: Option<&str>) -> Option<String> {
    let estimate = search.estimate(tier)?;
    let name = name.map_or_else(String::new, |name| format!("{name} "));
    Some(match search.interval(tier) {
        (Some(low), Some(high)) => {
            let digits = Decimals::of(&[estimate, low, high]);
            let ends = digits.interval([low, high]);
            format!("so far {name}{} ({ends})", digits.text(estimate))
        }
        _ => format!("so far {name}about {}", load_text(estimate)),
    })
}

/// The time left until the time limit. Without a time limit: the duration of the next trial, and the maximum number of
/// requests left. The time of all trials is not known, because the next loads depend on the results.
fn time_left(search: &Search) -> String {
    let Some(asked) = search.next() else { return String::new() };
    if let Ok(most) = Duration::try_from_secs_f64(search.time_left_s()) {
        return format!("; at most {} left", in_words(most));
    }
    let left = search.settings().max_requests.saturating_sub(search.requests());
    let next = match Duration::try_from_secs_f64(search.seconds(asked)) {
        Ok(next) if !next.is_zero() => format!("; the next trial takes {}", about(next)),
        _ => String::new(),
    };
    format!("{next}; at most {left} requests left")
}

/// The answers, one line each. They are the last lines on a terminal, below the lines of the trials.
pub fn answers(answers: &[SearchAnswer]) -> String {
    let line = |answer: &SearchAnswer| format!("answer: {}: {}\n", answer.cell(), sentence(answer));
    answers.iter().map(line).collect()
}

/// Why a search failed, independently of its answers: no request of any trial completed. `None` if a request completed,
/// or if requests of a trial were only too slow. Requests that the server refuses above its capacity are not a failure
/// of the search, because the search must find this capacity.
pub fn nothing_completed(summary: &Summary) -> Option<String> {
    let passes = || summary.cells.iter().flat_map(|cell| &cell.passes);
    let first = passes().next()?;
    let was_only_slow = |pass: &PassSummary| {
        let OutcomeCounts { cancelled, skipped, .. } = pass.outcomes;
        pass.is_cut_off() && cancelled + skipped == pass.outcomes.total()
    };
    if passes().any(was_only_slow) {
        return None;
    }
    let refused = |answer: &SearchAnswer| {
        Some(format!("{}: {}", answer.cell(), sentence(answer)))
            .filter(|_| answer.refusal.is_some())
    };
    passes().all(|pass| pass.outcomes.complete == 0).then(|| {
        let told = summary.searches.iter().find_map(refused);
        told.unwrap_or_else(|| {
            format!("no request of any trial completed; in the first trial: {}", first.outcomes)
        })
    })
}

/// The answers that a limit left undecided, as one text; `None` if there are none.
pub fn undecided(answers: &[SearchAnswer]) -> Option<String> {
    let judged = answers.iter().map(Judgement::of_search);
    let open = judged.filter(|judged| judged.verdict == Verdict::Undecided);
    open.map(|open| open.sentence.trim_end_matches('.').to_owned())
        .reduce(|all, next| format!("{all}; {next}"))
}

/// Checks whether the answers of a search are sufficient.
///
/// # Errors
/// When no load meets the objectives, nothing could be judged, or the search ended early.
pub fn judge(answers: &[SearchAnswer]) -> Result<(), Shortfall> {
    for answer in answers {
        let why = || format!("{}: {}", answer.cell(), sentence(answer));
        match (answer.outcome, answer.best()) {
            (SearchEnding::NotMeasurable, None) => return Err(Shortfall::Failed(why())),
            // For example after a trial whose records are incomplete.
            (SearchEnding::Unfinished, _) => {
                return Err(Shortfall::Failed(format!("the search ended early: {}", why())));
            }
            // A limit that leaves no time or no request for a trial leaves the answer undecided.
            (
                SearchEnding::RequestsSpent | SearchEnding::TrialsSpent | SearchEnding::TimeSpent,
                _,
            ) => {}
            (_, None) if answer.trials == 0 => return Err(Shortfall::Failed(why())),
            _ if answer.is_missed() => return Err(Shortfall::Objective(why())),
            _ => {}
        }
    }
    Ok(())
}
