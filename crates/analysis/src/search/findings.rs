//! What a reader must know of an answer before using it.

use super::answer::{LoadAnswer, SearchAnswer};
use super::evidence::Claim;
use super::settings::Outcome;
use crate::cell::{self, Cell};
use crate::pass::PassSummary;
use crate::validity;
use inferometer_model::finding::{Code, Finding, code};
use inferometer_plan::search::Over;

/// The codes of what [`findings`] says, in whatever words an earlier version said it.
pub const CODES: [Code; 4] = [
    code::SEARCH_NOT_FINISHED,
    code::SEARCH_NOT_MONOTONE,
    code::SEARCH_SATURATED,
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
            cell.and_then(|cell| limited_by_the_client(answer, cell)),
        ];
        let tier = answer.tier.as_ref().map_or_else(String::new, |tier| format!(", {tier}"));
        let place = format!("{}{tier}", answer.cell());
        found
            .into_iter()
            .flatten()
            .map(move |finding| finding.at(place.clone()))
            .collect::<Vec<_>>()
    };
    answers.iter().flat_map(of).collect()
}

fn outcome(answer: &SearchAnswer) -> Option<Finding> {
    let unit = answer.over.unit();
    let short = format!(
        "before the interval was as narrow as {} %",
        (answer.precision * 1e6).round() / 1e4
    );
    let (message, advice) = match answer.outcome {
        Outcome::Found => return None,
        Outcome::NotMetAtLowest => (
            "the objectives do not hold at the lowest load that was tried, nor at any below it"
                .to_owned(),
            "allow lower loads with --from, or ask for less",
        ),
        Outcome::MetAtHighest => (
            "the objectives hold at the highest load that was asked for: the edge lies above it"
                .to_owned(),
            "allow higher loads with --to",
        ),
        Outcome::RequestsSpent => (
            format!("{} requests were spent {short}", answer.requests),
            "allow more with --max-requests, or ask for less with --precision",
        ),
        Outcome::TrialsSpent => (
            format!("{} trials were made {short}", answer.trials),
            "begin nearer with --start, or allow more with --max-trials",
        ),
        Outcome::TimeSpent => (
            format!("the time of --max-time was spent {short}"),
            "allow more with --max-time, or ask for less with --precision",
        ),
        Outcome::NotMeasurable => (
            format!(
                "at {} {unit} tokens arrived in bundles, so that times between them are not known and \
                 an objective on them cannot be judged",
                in_bundles(answer)
            ),
            "let each token through at once, as the finding `stream_in_bundles` says, or ask for an \
             objective on TTFT or E2E",
        ),
        Outcome::Unfinished => (
            "the search was broken off: the interval is that of the trials until then".to_owned(),
            "go on with --resume",
        ),
    };
    Some(Finding::of(code::SEARCH_NOT_FINISHED, message).advise(advice))
}

/// The loads at which tokens came in bundles.
fn in_bundles(answer: &SearchAnswer) -> String {
    let loads = answer.loads.iter().filter(|load| load.lacks_gaps);
    loads.map(|load| load.load.to_string()).collect::<Vec<_>>().join(" and ")
}

fn contradiction(answer: &SearchAnswer) -> Option<Finding> {
    let message = "a load met the objectives though a lower one did not: the server changed while it \
                   was measured, or does not get slower with load";
    answer.contradicts.then(|| Finding::of(code::SEARCH_NOT_MONOTONE, message))
}

fn saturated(answer: &SearchAnswer) -> Option<Finding> {
    let load = answer.loads.iter().find(|load| load.saturation.is_some())?;
    let saturation = load.saturation?;
    let message = format!(
        "at {} {} the server got ever more behind: {} requests came in the second half of the \
         trial and {} ended, with {:.0} in flight at first and {:.0} at last",
        load.load,
        answer.over.unit(),
        saturation.arrived,
        saturation.ended,
        saturation.in_flight_before,
        saturation.in_flight_after
    );
    Some(Finding::of(code::SEARCH_SATURATED, message))
}

/// At the lowest load that does not meet the objectives the instrument itself was at its limit: then it is that which was found.
fn limited_by_the_client(answer: &SearchAnswer, cell: &Cell) -> Option<Finding> {
    let beyond = |load: &&LoadAnswer| load.claim == Claim::NotMet;
    let high = answer.loads.iter().find(beyond)?.load;
    let of_load = |pass: &&PassSummary| match answer.over {
        Over::Rate => pass.rate == Some(high),
        Over::Concurrency => pass.concurrency.map(f64::from) == Some(high),
    };
    let passes: Vec<PassSummary> = cell.passes.iter().filter(of_load).cloned().collect();
    let (_, reasons) =
        validity::judge(&[cell::cell(cell.input_length, cell.output_length, passes)], &[]);
    let reason = reasons.first()?;
    let message = format!(
        "the client is suspect at the lowest load that does not meet the objectives, so that the edge may be its own \
         and not the server's: {reason}"
    );
    Some(Finding::of(code::SEARCH_LIMITED_BY_CLIENT, message))
}
