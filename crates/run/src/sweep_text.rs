//! A sweep as text: one line for each trial, and one line for each answer. Also judges whether the answers are
//! sufficient.

use std::time::Duration;

use inferometer_analysis::search::load_text;
use inferometer_analysis::sweep::{LevelTrial, Sweep, SweepAnswer, SweepEnding};

use crate::error::Shortfall;
use crate::estimate::in_words;

/// One line on the last trial: its result, the saturation so far, and the duration of the next trial.
pub fn trial(sweep: &Sweep) -> String {
    let Some(trial) = sweep.last() else { return String::new() };
    let load = format!("{} {}", load_text(trial.load), trial.by.unit());
    format!("    {load}: {}{}{}", shown(trial), known(sweep), next(sweep))
}

fn shown(trial: &LevelTrial) -> String {
    let Some(found) = trial.requests_per_s else {
        return format!("{} of {} requests completed", trial.completed, trial.requests);
    };
    let throughput = format!("{} requests/s", load_text(found.value));
    match (trial.latency_ms, trial.is_overloaded(), trial.is_settled) {
        (_, true, _) => format!(
            "{throughput}, and requests arrive faster than the server \
            completes them"
        ),
        (_, _, false) => format!("{throughput}; too short for a verdict on this load"),
        (Some(latency), ..) => format!("{throughput}, {} ms per request", load_text(latency.value)),
        (None, ..) => throughput,
    }
}

fn known(sweep: &Sweep) -> String {
    let Some(most) = sweep.saturation().and_then(|level| level.requests_per_s) else {
        return String::new();
    };
    let knee = sweep.knee().map_or_else(String::new, |knee| {
        let low = knee.low.map_or_else(|| "1".to_owned(), load_text);
        format!(", the knee at {} ({low} to {})", load_text(knee.load), load_text(knee.high))
    });
    format!("; saturated at {} requests/s{knee}", load_text(most.value))
}

fn next(sweep: &Sweep) -> String {
    let Some(asked) = sweep.next() else { return String::new() };
    let Ok(span) = Duration::try_from_secs_f64(sweep.seconds(asked)) else { return String::new() };
    let load = load_text(asked.load);
    let about = if span < Duration::from_secs(1) { "" } else { "about " };
    format!("; next {load} {}, {about}{}", asked.by.unit(), in_words(span))
}

/// The answers, one line each. They are the last lines on a terminal, below the lines of the trials.
pub fn answers(answers: &[SweepAnswer]) -> String {
    answers.iter().map(|answer| format!("answer: {}: {}\n", answer.cell(), answer.answer)).collect()
}

/// Checks whether the answers of a sweep are sufficient.
///
/// # Errors
/// When no request completed, or the sweep ended early, for example after a trial with incomplete records.
pub fn judge(answers: &[SweepAnswer]) -> Result<(), Shortfall> {
    for answer in answers {
        if answer.trials == 0
            || matches!(answer.outcome, SweepEnding::NothingCompleted | SweepEnding::Unfinished)
        {
            return Err(Shortfall::Failed(format!("{}: {}", answer.cell(), answer.answer)));
        }
    }
    Ok(())
}
