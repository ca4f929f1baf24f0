//! A sweep as text: one line for each trial, and one line for each answer. Also judges whether the answers are
//! sufficient.

use std::time::Duration;

use inferometer_analysis::search::load_text;
use inferometer_analysis::sweep::{LevelTrial, Sweep, SweepAnswer, SweepEnding};
use inferometer_model::digits::{Decimals, with_unit};
use inferometer_plan::search::Over;

use crate::error::Shortfall;
use crate::estimate::about;

/// One line on the last trial: its result, the saturation so far, and the duration of the next trial.
pub fn trial(sweep: &Sweep) -> String {
    let Some(trial) = sweep.last() else { return String::new() };
    let load = with_unit(&load_text(trial.load), trial.by.unit());
    format!("    {load}: {}{}{}", shown(trial), known(sweep), next(sweep))
}

fn shown(trial: &LevelTrial) -> String {
    let Some(found) = trial.requests_per_s else {
        return format!("{} of {} requests completed", trial.completed, trial.requests);
    };
    let throughput = requests_per_s(found.value);
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
        let ends = [knee.low.unwrap_or(1.0), knee.high];
        let digits = Decimals::of(&[knee.load, ends[0], ends[1]]);
        format!(", the knee at {} ({})", digits.text(knee.load), digits.interval(ends))
    });
    format!("; saturated at {}{knee}", requests_per_s(most.value))
}

fn requests_per_s(rate: f64) -> String {
    with_unit(&load_text(rate), Over::Rate.unit())
}

fn next(sweep: &Sweep) -> String {
    let Some(asked) = sweep.next() else { return String::new() };
    let Ok(span) = Duration::try_from_secs_f64(sweep.seconds(asked)) else { return String::new() };
    let load = with_unit(&load_text(asked.load), asked.by.unit());
    format!("; next {load}, {}", about(span))
}

/// The answers, one line each. They are the last lines on a terminal, below the lines of the trials.
pub fn answers(answers: &[SweepAnswer]) -> String {
    answers.iter().map(|answer| format!("answer: {}: {}\n", answer.cell(), answer.answer)).collect()
}

/// Checks whether the answers of a sweep are sufficient.
///
/// # Errors
/// When a cell has no trial or no completed request, or when the sweep ended early, for example after a trial with
/// incomplete records.
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
