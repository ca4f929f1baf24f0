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
        let place = answer.cell().to_string();
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
    let (message, advice) = match answer.outcome {
        Outcome::Found => return None,
        Outcome::NotMetAtLowest => (
            format!(
                "the objectives do not hold even at {} {unit}, the lowest load that was asked for",
                answer.high?
            ),
            "allow lower loads with --from, or ask for less",
        ),
        Outcome::MetAtHighest => (
            format!(
                "the objectives hold at {} {unit} too, the highest load that was asked for: the \
                 edge lies above it",
                answer.low?
            ),
            "allow higher loads with --to",
        ),
        Outcome::RequestsSpent => (
            format!("{} requests were spent {}{}", answer.requests, before(answer), blank(answer)),
            "allow more with --max-requests, or ask for less with --precision",
        ),
        Outcome::TrialsSpent => (
            format!(
                "{} trials were made {}, and the confidence was planned for no more{}",
                answer.trials,
                before(answer),
                blank(answer)
            ),
            "begin nearer with --start, or allow more with --max-trials",
        ),
        Outcome::NotMeasurable => (
            format!(
                "at {} {unit} tokens arrived in bundles, so that times between them are not known and \
                 an objective on them cannot be judged: the search ended {}",
                in_bundles(answer),
                before(answer)
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

/// What a search had not reached when it ended.
fn before(answer: &SearchAnswer) -> String {
    match (answer.low, answer.high) {
        (Some(_), Some(_)) => {
            format!("before the interval was as narrow as {}%", answer.precision * 100.0)
        }
        (Some(_), None) => "before any load was found that does not meet them".to_owned(),
        (None, Some(_)) => "before any load could be claimed to meet them".to_owned(),
        (None, None) => "before anything could be claimed".to_owned(),
    }
}

/// Where requests were spent of which none counted.
fn blank(answer: &SearchAnswer) -> String {
    let is_blank = |load: &&LoadAnswer| load.counted == 0 && load.claim == Claim::Open;
    let blank: Vec<&LoadAnswer> = answer.loads.iter().filter(is_blank).collect();
    if blank.is_empty() {
        return String::new();
    }
    let requests: u64 = blank.iter().map(|load| load.requests).sum();
    let loads: Vec<String> = blank.iter().map(|load| load.load.to_string()).collect();
    format!(
        "; {requests} of them at {} {}, where none counted: latencies exceed the time over which \
         requests came, so that all were start-up or drain",
        loads.join(" and "),
        answer.over.unit()
    )
}

fn contradiction(answer: &SearchAnswer) -> Option<Finding> {
    let message = "a load meets the objectives though a lower one does not: the server changed \
                   while it was measured, or does not get slower with load; the interval holds both";
    answer.contradicts.then(|| Finding::of(code::SEARCH_NOT_MONOTONE, message))
}

fn saturated(answer: &SearchAnswer) -> Option<Finding> {
    let load = answer.loads.iter().find(|load| Some(load.load) == answer.high)?;
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

/// At the upper end the instrument itself was at its limit: then it is that which was found.
fn limited_by_the_client(answer: &SearchAnswer, cell: &Cell) -> Option<Finding> {
    let high = answer.high?;
    let of_load = |pass: &&PassSummary| match answer.over {
        Over::Rate => pass.rate == Some(high),
        Over::Concurrency => pass.concurrency.map(f64::from) == Some(high),
    };
    let passes: Vec<PassSummary> = cell.passes.iter().filter(of_load).cloned().collect();
    let (_, reasons) =
        validity::judge(&[cell::cell(cell.input_length, cell.output_length, passes)], &[]);
    let reason = reasons.first()?;
    let message = format!(
        "the client is suspect at the upper end of the interval, so that the edge may be its own \
         and not the server's: {reason}"
    );
    Some(Finding::of(code::SEARCH_LIMITED_BY_CLIENT, message))
}
