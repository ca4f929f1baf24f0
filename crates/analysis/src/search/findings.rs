//! Findings that a reader must know before using the answer of a search.

use super::document::{LoadAnswer, SearchAnswer};
use super::evidence::Claim;
use super::outcome::SearchEnding;
use super::sentence::sentence;
use crate::{Cell, validity};
use inferometer_model::digits::percent;
use inferometer_model::{Code, Finding, code};

/// The codes of [`findings`]. Stored findings with these codes are removed before the findings are computed again,
/// because their messages may come from an earlier version.
pub const CODES: [Code; 5] = [
    code::SEARCH_NOT_FINISHED,
    code::SEARCH_NOT_MONOTONE,
    code::SEARCH_SATURATED,
    code::SEARCH_IN_BURSTS,
    code::SEARCH_LIMITED_BY_CLIENT,
];

/// The findings of the searches of a run, from their answers and the passes of their trials.
pub fn findings(answers: &[SearchAnswer], cells: &[Cell]) -> Vec<Finding> {
    let of = |answer: &SearchAnswer| {
        let cell = cells.iter().find(|cell| cell.plan() == answer.cell());
        let found = [
            outcome(answer),
            contradiction(answer),
            saturated(answer),
            in_bursts(answer),
            cell.and_then(|cell| limited_by_the_client(answer, cell)),
        ];
        let place = answer.place();
        found
            .into_iter()
            .flatten()
            .map(move |finding| finding.at(place.clone()))
            .collect::<Vec<_>>()
    };
    answers.iter().flat_map(of).collect()
}

/// Marks the answers whose load may be the limit of the client, and writes their sentences again.
pub fn mark_limits_of_client(answers: &mut [SearchAnswer], cells: &[Cell]) {
    for answer in answers {
        let cell = cells.iter().find(|cell| cell.plan() == answer.cell());
        answer.is_limited_by_client =
            cell.is_some_and(|cell| limited_by_the_client(answer, cell).is_some());
        answer.answer = sentence(answer);
    }
}

fn outcome(answer: &SearchAnswer) -> Option<Finding> {
    let (unit, counted) = (answer.over.unit(), answer.over.counted());
    let short = format!("before the interval was narrower than {} %", percent(answer.precision));
    let (message, advice) = match answer.outcome {
        _ if answer.refusal.is_some() => (
            "the server refused every request, so the search shows nothing about loads".to_owned(),
            "fix the cause of the refusals (see the finding `requests_failed`), then search again",
        ),
        SearchEnding::Found => return None,
        SearchEnding::NotMetAtLowest if answer.is_missed_alone => (
            format!(
                "the objectives are missed by {counted} that are alone on the server, so no load meets them"
            ),
            "relax the objectives",
        ),
        SearchEnding::NotMetAtLowest => (
            "the objectives are missed at the lowest load tried: at the load of --from, or at a \
                load at which the server is nearly idle"
                .to_owned(),
            "allow lower loads with --from, or relax the objectives",
        ),
        SearchEnding::MetAtHighest => (
            "the objectives are met at the highest load of --to: the limit of the server is higher"
                .to_owned(),
            "allow higher loads with --to",
        ),
        SearchEnding::RequestsSpent => (
            format!("the limit of {} {counted} was reached {short}", answer.requests),
            "raise --max-requests, or allow a wider interval with --precision",
        ),
        SearchEnding::TrialsSpent => (
            format!("the limit of {} trials was reached {short}", answer.trials),
            "start nearer to the answer with --start, or raise --max-trials",
        ),
        SearchEnding::TimeSpent => (
            format!("the time limit of --max-time was reached {short}"),
            "raise --max-time, or allow a wider interval with --precision",
        ),
        SearchEnding::NotMeasurable => (
            format!(
                "at {} {unit} tokens arrived in bundles, so the times between them are unknown, \
                    and objectives on them cannot be judged",
                in_bundles(answer)
            ),
            "make the stream forward each token at once (see the finding `stream_in_bundles`), or \
                use an objective on TTFT or E2E",
        ),
        SearchEnding::Unfinished => (
            "the search was interrupted: the interval uses the trials until then".to_owned(),
            "continue it with --resume",
        ),
    };
    Some(Finding::of(code::SEARCH_NOT_FINISHED, message).advise(advice))
}

/// The loads at which tokens arrived in bundles, as text.
fn in_bundles(answer: &SearchAnswer) -> String {
    let loads = answer.loads.iter().filter(|load| load.lacks_gaps);
    loads.map(|load| load.load.to_string()).collect::<Vec<_>>().join(" and ")
}

fn contradiction(answer: &SearchAnswer) -> Option<Finding> {
    let message = "a load met the objectives although a lower one missed them: the difference is by \
        chance, or the server changed during the search, or the server does not get slower with \
        load";
    answer.contradicts.then(|| Finding::of(code::SEARCH_NOT_MONOTONE, message))
}

fn saturated(answer: &SearchAnswer) -> Option<Finding> {
    let load = answer.loads.iter().find(|load| load.saturation.is_some())?;
    let (saturation, counted) = (load.saturation?, answer.over.counted());
    let message = format!(
        "at {} {} the queue kept growing: in the second half of the arrivals {} {counted} arrived and \
            {} ended, and the number of {counted} that were due and had not ended grew from {:.0} to {:.0}",
        load.load,
        answer.over.unit(),
        saturation.arrived,
        saturation.ended,
        saturation.in_flight_before,
        saturation.in_flight_after
    );
    Some(Finding::of(code::SEARCH_SATURATED, message))
}

/// The finding that requests of equal lengths started together. The answer then applies only to prompts that arrive in
/// bursts.
fn in_bursts(answer: &SearchAnswer) -> Option<Finding> {
    let mut loads = answer.loads.iter().filter(|_| answer.refusal.is_none());
    let load = loads.rfind(|load| load.starts_together)?;
    let message = format!(
        "at {} {}, requests of equal lengths started and ended together, so the server processed \
            prompts in bursts: with varied lengths, the highest load may be much higher",
        load.load,
        answer.over.unit()
    );
    Some(Finding::of(code::SEARCH_IN_BURSTS, message))
}

/// The finding that the client was suspect at the lowest load that misses the objectives. The search may then have
/// found the limit of the client, not of the server.
fn limited_by_the_client(answer: &SearchAnswer, cell: &Cell) -> Option<Finding> {
    let beyond = |load: &&LoadAnswer| load.claim == Claim::NotMet;
    let high = answer.loads.iter().find(beyond)?.load;
    let reason = validity::suspect_at(cell, answer.over, high)?;
    let message = format!(
        "the client may have been the limit at the lowest load that misses the objectives, not the \
            server: {reason}"
    );
    Some(Finding::of(code::SEARCH_LIMITED_BY_CLIENT, message))
}
