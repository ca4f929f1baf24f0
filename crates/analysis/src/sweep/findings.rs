//! Findings that a reader of a sweep must know besides the answer.

use inferometer_model::{Code, Finding, code, digits::with_unit};
use inferometer_plan::search::Over;

use super::{document::SweepAnswer, outcome::SweepEnding};
use crate::{Cell, search::load_text, validity};

/// The codes of the findings on sweeps.
pub const CODES: [Code; 3] =
    [code::SWEEP_NOT_FINISHED, code::SWEEP_THROUGHPUT_FALLS, code::SWEEP_LIMITED_BY_CLIENT];

/// The findings of the sweeps of a run, from their answers and the passes of their trials.
pub fn findings(answers: &[SweepAnswer], cells: &[Cell]) -> Vec<Finding> {
    let of = |answer: &SweepAnswer| {
        of_answer(answer, cells.iter().find(|cell| cell.plan() == answer.cell()))
    };
    answers.iter().flat_map(of).collect()
}

fn of_answer(answer: &SweepAnswer, cell: Option<&Cell>) -> Vec<Finding> {
    let at = answer.cell().to_string();
    let unit = answer.by.unit();
    let requests_per_s = |rate: f64| with_unit(&load_text(rate), Over::Rate.unit());
    let not_finished = match answer.refusal {
        Some(_) => Some(
            Finding::of(code::SWEEP_NOT_FINISHED, "The server refused every request.")
                .advise("fix the cause of the refusals (see the finding `requests_failed`), then sweep again"),
        ),
        None => not_finished(answer).map(|why| {
            let finding = Finding::of(code::SWEEP_NOT_FINISHED, why);
            match answer.outcome {
                SweepEnding::RateLimited => finding.advise("ask the provider for a higher limit"),
                _ => finding,
            }
        }),
    };
    let falls = answer.saturation.as_ref().and_then(|saturation| {
        let above = saturation.falls_at.filter(|_| answer.by == Over::Concurrency)?;
        let mut levels = answer.levels.iter().filter(|level| level.by == answer.by);
        let there = levels.find(|level| level.load == above)?.requests_per_s?;
        Some(Finding::of(
            code::SWEEP_THROUGHPUT_FALLS,
            format!(
                "The throughput falls from {} at {} {unit} to {} at {} {unit}.",
                requests_per_s(saturation.requests_per_s.value),
                load_text(saturation.load),
                requests_per_s(there.value),
                load_text(above)
            ),
        ))
    });
    let limited = cell.and_then(|cell| limited_by_the_client(answer, cell));
    not_finished.into_iter().chain(falls).chain(limited).map(|finding| finding.at(&at)).collect()
}

/// The finding that the client was suspect at saturation. The limit may then be a limit of the client, not of the
/// server.
fn limited_by_the_client(answer: &SweepAnswer, cell: &Cell) -> Option<Finding> {
    let load = answer.saturation.as_ref()?.load;
    let reason = validity::suspect_at(cell, answer.by, load)?;
    let message = format!(
        "At the saturation load, the client (not the server) may have limited the throughput: {reason}"
    );
    Some(Finding::of(code::SWEEP_LIMITED_BY_CLIENT, message))
}

fn not_finished(answer: &SweepAnswer) -> Option<String> {
    let spent = match answer.outcome {
        SweepEnding::Found | SweepEnding::Unfinished => return None,
        SweepEnding::NotSaturated => {
            return Some(
                "The highest load tried does not saturate the server: its maximum throughput is \
                    unknown."
                    .to_owned(),
            );
        }
        SweepEnding::RateLimited => {
            return Some(
                "The server refused requests because the client sends too many (HTTP status 429): its maximum throughput \
                    is unknown."
                    .to_owned(),
            );
        }
        SweepEnding::RequestsSpent => "the limit on requests was reached",
        SweepEnding::TrialsSpent => "the limit on trials was reached",
        SweepEnding::TimeSpent => "the time limit left too little for another trial",
        SweepEnding::NothingCompleted => "no request completed",
    };
    Some(match answer.saturation {
        Some(_) => format!("The knee is less precise than required by --precision: {spent}."),
        None => format!("It is not certain whether the server is saturated: {spent}."),
    })
}
