//! The comparison of two searches or two sweeps for people: one sentence for each cell and tier, and a table.

use inferometer_analysis::compare::{
    AnswerFigure, AnswerRow, AnswerSide, AnswerVerdict, Comparison,
};
use inferometer_analysis::load_ranking::SustainedLoad;
use inferometer_model::digits::Decimals;

use crate::load_ranking::known;
use crate::number::{MISSING, significant};
use crate::text_table::{Align, Table};

/// The answer: one sentence for each cell and tier.
pub(crate) fn answer(comparison: &Comparison) -> String {
    let is_headline = |row: &&AnswerRow| {
        matches!(row.figure, AnswerFigure::HighestLoad | AnswerFigure::SaturatedRequestsPerS)
    };
    let rows = comparison.answers.iter().filter(is_headline);
    rows.map(|row| sentence(comparison, row)).collect::<Vec<_>>().join(" ")
}

fn sentence(comparison: &Comparison, row: &AnswerRow) -> String {
    let (a, b) = (&comparison.baseline, &comparison.contender);
    let place = row.place();
    let confidence = significant(row.confidence * 100.0);
    let text = |load: &SustainedLoad| known(row.unit(), load, &confidence);
    let nothing = match row.objectives {
        Some(_) => "no load is known to meet the objectives",
        None => "no saturation was found",
    };
    let (ours, theirs, ratio) = match (row.baseline.known, row.contender.known, row.ratio) {
        (Some(ours), Some(theirs), Some(ratio)) => (ours, theirs, ratio),
        (Some(ours), ..) => {
            return format!("{place}: {a} bears {}, but {nothing} on {b}.", text(&ours));
        }
        (_, Some(theirs), _) => {
            return format!("{place}: {b} bears {}, but {nothing} on {a}.", text(&theirs));
        }
        _ => {
            return format!(
                "It is unknown which of {b} and {a} bears more load: {nothing} ({place})."
            );
        }
    };
    let digits = digits_of(&ratio);
    let times = digits.text(ratio.value);
    let interval = match ends(&ratio, digits) {
        Some(ends) => format!("{confidence} % interval: {ends}"),
        None => "no interval".to_owned(),
    };
    let first = match row.verdict {
        AnswerVerdict::Higher | AnswerVerdict::Lower => {
            format!("{b} bears {times} times the load of {a} ({interval}; {place})")
        }
        AnswerVerdict::NoDifference => format!(
            "No difference was found between {b} and {a}: {b} bears {times} times the load of {a} \
             ({interval}; {place})"
        ),
        AnswerVerdict::Unknown => format!(
            "It is unknown whether {b} bears more load than {a}: the estimate is {times} times the \
             load of {a} ({interval}; {place})"
        ),
    };
    let remarks: String = [(a, &row.baseline), (b, &row.contender)]
        .into_iter()
        .flat_map(|(name, side)| remarks(name, side))
        .collect();
    let others = others(comparison, row);
    format!("{first}: {} against {}{others}{remarks}.", text(&theirs), text(&ours))
}

/// What limits the answer of a side, as parts of a sentence.
fn remarks(name: &str, side: &AnswerSide) -> Vec<String> {
    let mut remarks = Vec::new();
    match side.known.map(|known| (known.low, known.high)) {
        Some((None, None)) => remarks.push(format!("; the load of {name} has no interval")),
        Some((None, _) | (_, None)) => {
            remarks.push(format!("; the interval of {name} is one-sided"));
        }
        _ => {}
    }
    if side.is_undecided {
        remarks.push(format!(
            "; the answer of {name} is less precise than requested, because a limit ended it"
        ));
    }
    if side.unanswered > 0 {
        remarks
            .push(format!("; {} of {} runs of {name} have no answer", side.unanswered, side.runs));
    }
    remarks
}

/// The other figures of a sweep at saturation, as parts of a sentence.
fn others(comparison: &Comparison, row: &AnswerRow) -> String {
    if row.figure != AnswerFigure::SaturatedRequestsPerS {
        return String::new();
    }
    let of = |figure: AnswerFigure, words: &str| {
        let is_its = |other: &&AnswerRow| other.figure == figure && other.cell == row.cell;
        let other = comparison.answers.iter().find(is_its)?;
        let (ours, theirs) = other.baseline.known.zip(other.contender.known)?;
        let confidence = significant(other.confidence * 100.0);
        let [theirs, ours] = [theirs, ours].map(|load| known(other.unit(), &load, &confidence));
        Some(format!("; {words}{theirs} against {ours}"))
    };
    let tokens = of(AnswerFigure::SaturatedOutputTokensPerS, "");
    [tokens, of(AnswerFigure::Knee, "the knee is at ")].into_iter().flatten().collect()
}

fn digits_of(ratio: &SustainedLoad) -> Decimals {
    let ends = [Some(ratio.value), ratio.low, ratio.high];
    Decimals::of(&ends.into_iter().flatten().collect::<Vec<_>>())
}

/// The interval of a load or a ratio, without its level; absent if there is none.
fn ends(load: &SustainedLoad, digits: Decimals) -> Option<String> {
    match (load.low, load.high) {
        (Some(low), Some(high)) => Some(digits.interval([low, high])),
        (Some(low), None) => Some(format!("{} or more", digits.text(low))),
        (None, Some(high)) => Some(format!("{} or less", digits.text(high))),
        (None, None) => None,
    }
}

/// One row for each figure of the answers.
pub(crate) fn table(rows: &[AnswerRow]) -> Table {
    let mut table = Table::new([
        ("Cell".to_owned(), Align::Left),
        ("Objectives".to_owned(), Align::Left),
        ("Figure".to_owned(), Align::Left),
        ("Baseline".to_owned(), Align::Right),
        ("Contender".to_owned(), Align::Right),
        ("Contender / baseline".to_owned(), Align::Right),
        ("Verdict".to_owned(), Align::Left),
    ]);
    for row in rows {
        let side = |side: &AnswerSide| value(side.known);
        table.push(vec![
            row.cell.to_string(),
            row.objectives.clone().unwrap_or_else(|| MISSING.to_owned()),
            format!("{} ({})", name(row.figure), row.unit()),
            side(&row.baseline),
            side(&row.contender),
            value(row.ratio),
            verdict(row).to_owned(),
        ]);
    }
    table
}

/// A value with its interval in brackets: `15.1 (12.4 to 17.3)`.
fn value(load: Option<SustainedLoad>) -> String {
    load.map_or_else(
        || MISSING.to_owned(),
        |load| {
            let digits = digits_of(&load);
            let text = digits.text(load.value);
            ends(&load, digits).map_or_else(|| text.clone(), |ends| format!("{text} ({ends})"))
        },
    )
}

fn name(figure: AnswerFigure) -> &'static str {
    match figure {
        AnswerFigure::HighestLoad => "highest load",
        AnswerFigure::SaturatedRequestsPerS | AnswerFigure::SaturatedOutputTokensPerS => {
            "at saturation"
        }
        AnswerFigure::Knee => "knee",
    }
}

/// The verdict in words.
pub(crate) fn verdict(row: &AnswerRow) -> &'static str {
    match row.verdict {
        AnswerVerdict::Higher => "higher",
        AnswerVerdict::Lower => "lower",
        AnswerVerdict::NoDifference => "no difference",
        AnswerVerdict::Unknown if row.ratio.is_none() => "unknown: no answer on at least one side",
        AnswerVerdict::Unknown => "unknown: the interval contains 1",
    }
}

/// The figures of both sides, their ratio and the verdict, in one line.
pub(crate) fn told(row: &AnswerRow) -> String {
    let [ratio, ours, theirs] = [row.ratio, row.baseline.known, row.contender.known].map(value);
    format!("{ratio} times the baseline: {theirs} against {ours} {}: {}", row.unit(), verdict(row))
}

/// How to read the table.
pub(crate) fn explanation(comparison: &Comparison) -> String {
    let levels = comparison.answers.iter().map(|row| row.confidence);
    let level = significant(100.0 * levels.fold(1.0, f64::min));
    let margin = significant(100.0 * comparison.options.margin);
    format!(
        "In brackets: {level} % intervals. The interval of the ratio follows from the intervals of \
         both answers. \"higher\" and \"lower\": this interval does not contain 1; if both were \
         measured, a drift of the machine between the two would look the same. \"no difference\": \
         it lies within {margin} % of 1. Single trials are not compared, because each search or \
         sweep chooses its own loads."
    )
}

#[cfg(test)]
mod tests {
    use inferometer_model::cell::CellPlan;
    use inferometer_plan::search::Over;

    use super::*;

    fn side(value: f64, low: f64, high: Option<f64>) -> AnswerSide {
        let known = Some(SustainedLoad { value, low: Some(low), high });
        AnswerSide { known, is_undecided: false, runs: 1, unanswered: 0 }
    }

    fn row(figure: AnswerFigure, baseline: AnswerSide, contender: AnswerSide) -> AnswerRow {
        let ratio = contender.known.zip(baseline.known);
        let objectives = (figure == AnswerFigure::HighestLoad).then(|| "ttft_p99<1s".to_owned());
        AnswerRow {
            cell: CellPlan { input_length: 512, output_length: 128 },
            objectives,
            figure,
            over: Over::Concurrency,
            confidence: 0.95,
            ratio: ratio.map(|(contender, baseline)| contender.relative_to(&baseline)),
            baseline,
            contender,
            verdict: AnswerVerdict::Higher,
        }
    }

    fn told(answers: Vec<AnswerRow>) -> String {
        let (baseline, contender) = ("A".to_owned(), "B".to_owned());
        answer(&Comparison { baseline, contender, answers, ..Comparison::default() })
    }

    #[test]
    fn the_sentence_says_how_many_times_the_load_one_bears_with_the_intervals() {
        use AnswerFigure::{HighestLoad, Knee, SaturatedOutputTokensPerS, SaturatedRequestsPerS};
        let (a, b) = (side(10.0, 9.0, Some(11.0)), side(20.0, 18.0, Some(22.0)));
        let open = AnswerSide { is_undecided: true, ..side(20.0, 18.0, None) };
        let none = AnswerSide { known: None, ..a.clone() };
        for (rows, text) in [
            (
                vec![row(HighestLoad, a.clone(), b.clone())],
                "B bears 2.00 times the load of A (95 % interval: 1.74 to 2.31; 512 x 128, with ttft_p99<1s): 20 in \
                 flight (95 % interval: 18 to 22) against 10 in flight (95 % interval: 9 to 11).",
            ),
            (
                vec![row(HighestLoad, a.clone(), open)],
                "B bears 2.00 times the load of A (95 % interval: 1.74 or more; 512 x 128, with ttft_p99<1s): 20 in \
                 flight (95 % interval: 18 or more) against 10 in flight (95 % interval: 9 to 11); the interval of B is \
                 one-sided; the answer of B is less precise than requested, because a limit ended it.",
            ),
            (
                vec![row(HighestLoad, a.clone(), none)],
                "512 x 128, with ttft_p99<1s: A bears 10 in flight (95 % interval: 9 to 11), but no load is known to \
                 meet the objectives on B.",
            ),
            (
                vec![
                    row(SaturatedRequestsPerS, a.clone(), b.clone()),
                    row(SaturatedOutputTokensPerS, a.clone(), b.clone()),
                    row(Knee, a.clone(), b.clone()),
                ],
                "B bears 2.00 times the load of A (95 % interval: 1.74 to 2.31; 512 x 128, at saturation): 20 requests/s \
                 (95 % interval: 18 to 22) against 10 requests/s (95 % interval: 9 to 11); 20 output tokens/s (95 % \
                 interval: 18 to 22) against 10 output tokens/s (95 % interval: 9 to 11); the knee is at 20 in flight \
                 (95 % interval: 18 to 22) against 10 in flight (95 % interval: 9 to 11).",
            ),
            (
                vec![AnswerRow {
                    verdict: AnswerVerdict::Unknown,
                    ..row(HighestLoad, a.clone(), a)
                }],
                "It is unknown whether B bears more load than A: the estimate is 1.00 times the load of A (95 % \
                 interval: 0.87 to 1.15; 512 x 128, with ttft_p99<1s): 10 in flight (95 % interval: 9 to 11) against 10 \
                 in flight (95 % interval: 9 to 11).",
            ),
        ] {
            assert_eq!(told(rows), text);
        }
    }
}
