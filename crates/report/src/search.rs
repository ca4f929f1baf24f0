//! The answer of a search for people: a sentence, and a table with an explanation. The verdicts come from the analysis.

use inferometer_analysis::SearchAnswer;
use inferometer_analysis::search::{self, Claim, LoadAnswer};
use inferometer_model::digits::percent;

use crate::{Align, MISSING, Table, significant};

/// The answer in one sentence.
pub fn sentence(answer: &SearchAnswer) -> String {
    match answer.answer.as_str() {
        // Results of earlier versions contain no sentence.
        "" => search::sentence(answer),
        answer => answer.to_owned(),
    }
}

/// How to read the table.
pub(crate) fn explanation(answer: &SearchAnswer) -> String {
    format!(
        "For each objective: the value over the counted requests (without start-up and drain of a \
            trial), and in brackets the 95% interval of this load alone, from the effective number \
            of independent requests. The {}% interval of the answer uses all trials together. So it \
            may contain a load whose own trials missed or met the objectives; the table marks such \
            a load with \"alone\".",
        percent(answer.confidence)
    )
}

/// The answer sentence without its full stop, as a part of another sentence.
pub(crate) fn short(answer: &SearchAnswer) -> String {
    sentence(answer).trim_end_matches('.').to_owned()
}

/// One row for each load: its requests, the value of each objective, and whether the objectives are met.
pub(crate) fn table(answer: &SearchAnswer) -> Table {
    let mut columns = vec![
        (format!("Load ({})", answer.over.unit()), Align::Right),
        (if answer.over.is_of_jobs() { "Jobs" } else { "Requests" }.to_owned(), Align::Right),
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
        let word = match load.claim {
            Claim::NotMet => format!("not met{}", alone(answer, load)),
            _ => "open".to_owned(),
        };
        return format!("{word}: {} of {} missed {which}{cut}", by.missed, by.planned);
    }
    let alone = alone(answer, load);
    let word = match (load.claim, load.saturation) {
        (_, Some(_)) => return format!("not met{alone}: the queue kept growing"),
        (Claim::NotMet, _) => return format!("not met{alone}"),
        (Claim::Met, _) => return format!("met{alone}"),
        (Claim::Open, _) if load.is_too_short => "too short",
        (Claim::Open, _) if answer.low.is_some_and(|low| load.load < low) => {
            "open, below the interval"
        }
        (Claim::Open, _) if load.counted == 0 => "open: no counted requests",
        (Claim::Open, _) => "open",
    };
    word.to_owned()
}

/// The mark of a load that its own trials show to miss the objectives although it is below the upper end of the
/// answer's interval, or to meet them although it is above the lower end. The interval uses all trials together,
/// because the few trials of one load may deviate by chance. Empty for other loads.
fn alone(answer: &SearchAnswer, load: &LoadAnswer) -> &'static str {
    let is_bound = match (load.claim, load.saturation) {
        (Claim::NotMet, _) | (_, Some(_)) => answer.high.is_some_and(|high| load.load >= high),
        (Claim::Met, None) => answer.low.is_some_and(|low| load.load <= low),
        (Claim::Open, None) => true,
    };
    if is_bound { "" } else { " by this load alone" }
}

/// A load with four significant digits.
fn load_text(load: f64) -> String {
    significant(load)
}
