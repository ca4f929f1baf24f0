//! The answer of a search for people: a sentence and a table. Nothing is judged here.

use inferometer_analysis::search::{Claim, LoadAnswer, Outcome, SearchAnswer};

use crate::number::{MISSING, significant};
use crate::text_table::{Align, Table};

/// The answer in one sentence.
pub fn sentence(answer: &SearchAnswer) -> String {
    let unit = answer.over.unit();
    let objectives: Vec<&str> = answer.objectives.iter().map(|it| it.text.as_str()).collect();
    let objectives = objectives.join(" and ");
    let confidence = format!("{}% confidence", trimmed(answer.confidence * 100.0));
    let trials = if answer.trials == 1 { "trial" } else { "trials" };
    let spent = format!("{} requests in {} {trials}", answer.requests, answer.trials);
    let load = |load: f64| format!("{} {unit}", load_text(load));
    match (answer.outcome, answer.low, answer.high) {
        (Outcome::NotMetAtLowest, _, Some(high)) => {
            format!("{objectives} does not hold even at {} ({confidence}; {spent})", load(high))
        }
        (Outcome::MetAtHighest, Some(low), _) => {
            format!(
                "{objectives} holds at {} too, the highest asked for ({confidence}; {spent})",
                load(low)
            )
        }
        (_, Some(low), Some(high)) => format!(
            "{objectives} holds up to {} at least and {} at most ({confidence}; {spent}){}",
            load_text(low),
            load(high),
            limited(answer)
        ),
        (_, Some(low), None) => {
            format!("{objectives} holds up to {} at least; no limit was found ({spent})", load(low))
        }
        (_, None, Some(high)) => format!(
            "{objectives} does not hold from {} on; no load can be claimed to meet it yet ({spent})",
            load(high)
        ),
        (_, None, None) => format!("nothing can be claimed of {objectives} yet ({spent})"),
    }
}

/// How to read the table.
pub(crate) fn explanation(answer: &SearchAnswer) -> String {
    format!(
        "Of each objective: what was measured of the requests that count (neither start-up nor \
         drain of a trial), and in brackets the interval from which it is claimed, for as many \
         independent requests as they are worth. The intervals are as wide as the {}% confidence of \
         the whole search needs them, over all its trials.",
        trimmed(answer.confidence * 100.0)
    )
}

/// The answer in a few words.
pub(crate) fn short(answer: &SearchAnswer) -> String {
    let unit = answer.over.unit();
    let ends = match (answer.low, answer.high) {
        (Some(low), Some(high)) => {
            format!("between {} and {} {unit}", load_text(low), load_text(high))
        }
        (Some(low), None) => format!("{} {unit} or more", load_text(low)),
        (None, Some(high)) => format!("less than {} {unit}", load_text(high)),
        (None, None) => "not known".to_owned(),
    };
    let confidence = trimmed(answer.confidence * 100.0);
    let limited = limited(answer);
    format!("The highest load that meets them: {ends} ({confidence}% confidence){limited}")
}

fn limited(answer: &SearchAnswer) -> String {
    let by = answer.limited_by.join(" and ");
    match (by.is_empty(), answer.saturated) {
        (false, true) => format!("; limited by {by}, and the server got ever more behind"),
        (false, false) => format!("; limited by {by}"),
        (true, true) => "; limited by what the server can do: it got ever more behind".to_owned(),
        (true, false) => String::new(),
    }
}

/// What is known of each load.
pub(crate) fn table(answer: &SearchAnswer) -> Table {
    let mut columns = vec![
        (format!("Load ({})", answer.over.unit()), Align::Right),
        ("Requests".to_owned(), Align::Right),
        ("Counted".to_owned(), Align::Right),
    ];
    columns.extend(answer.objectives.iter().map(|it| {
        let unit = if it.share.is_some() { "% that meet it" } else { "mean, ms" };
        (format!("{} ({unit})", it.text), Align::Right)
    }));
    columns.push(("Objectives".to_owned(), Align::Left));
    let mut table = Table::new(columns);
    for load in &answer.loads {
        let mut row =
            vec![load_text(load.load), load.requests.to_string(), load.counted.to_string()];
        for (objective, measured) in answer.objectives.iter().zip(&load.objectives) {
            let scale = if objective.share.is_some() { 100.0 } else { 1.0 };
            let value = measured.value * scale;
            row.push(match measured.interval.map(|ends| ends.map(|end| end * scale)) {
                _ if measured.counted == 0 => MISSING.to_owned(),
                Some([low, high]) => format!("{value:.2} ({low:.2} to {high:.2})"),
                None => format!("{value:.2}"),
            });
        }
        row.push(verdict(answer, load));
        table.push(row);
    }
    table
}

fn verdict(answer: &SearchAnswer, load: &LoadAnswer) -> String {
    if let Some(by) = load.overwhelmed {
        let cut = if by.cut_off > 0 { ", cut off" } else { "" };
        let which = match answer.objectives.as_slice() {
            [_] => "it",
            all => all.get(by.criterion).map_or("it", |it| it.text.as_str()),
        };
        let word = if load.claim == Claim::NotMet { "not met" } else { "open" };
        return format!("{word}: {} of {} missed {which}{cut}", by.missed, by.planned);
    }
    let word = match (load.claim, load.saturation) {
        (_, Some(_)) => "not met: ever more behind",
        (Claim::NotMet, _) => "not met",
        (Claim::Met, _) => "met",
        (Claim::Open, _) if answer.low.is_some_and(|low| load.load < low) => {
            "met (a higher one is)"
        }
        (Claim::Open, _) if load.counted == 0 => "open: none counts",
        (Claim::Open, _) => "open",
    };
    word.to_owned()
}

/// A load with four significant digits, or as it is.
fn load_text(load: f64) -> String {
    significant(load)
}

fn trimmed(percent: f64) -> String {
    let text = format!("{percent:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
