//! The comparison of two searches or two sweeps for people: one sentence for each cell and tier, and a table.

use inferometer_analysis::compare::{
    AnswerFigure, AnswerRow, AnswerSide, AnswerVerdict, Comparison,
};
use inferometer_analysis::load_ranking::SustainedLoad;
use inferometer_model::digits::Decimals;

use crate::{MISSING, Table, left, load_ranking::known, right, significant};

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
    let text = |side: &AnswerSide, load: &SustainedLoad| {
        format!("{}{}", at_least(side), known(row.unit(), load, &confidence))
    };
    let [no_ours, no_theirs] = [&row.baseline, &row.contender].map(|side| row.lack(side));
    let (ours, theirs) = match (row.baseline.known, row.contender.known) {
        (Some(ours), Some(theirs)) => (text(&row.baseline, &ours), text(&row.contender, &theirs)),
        (Some(ours), None) => {
            let (ours, lack) = (text(&row.baseline, &ours), no_theirs.unwrap_or_default());
            return format!("{place}: {a} sustains {ours}, but {lack} on {b}.");
        }
        (None, Some(theirs)) => {
            let (theirs, lack) = (text(&row.contender, &theirs), no_ours.unwrap_or_default());
            return format!("{place}: {b} sustains {theirs}, but {lack} on {a}.");
        }
        (None, None) => {
            let (ours, theirs) = (no_ours.unwrap_or_default(), no_theirs.unwrap_or_default());
            let why = match ours == theirs {
                true => ours.to_owned(),
                false => format!("{ours} on {a}, and {theirs} on {b}"),
            };
            return format!(
                "It is unknown which of {b} and {a} sustains more load: {why} ({place})."
            );
        }
    };
    let remarks: String = [(a, &row.baseline), (b, &row.contender)]
        .into_iter()
        .flat_map(|(name, side)| remarks(name, side))
        .collect();
    let others = others(comparison, row);
    let Some(ratio) = row.ratio else {
        return format!(
            "It is unknown whether {b} sustains more load than {a}: both answers are only lower \
             bounds ({place}): {theirs} against {ours}{others}{remarks}."
        );
    };
    let digits = digits_of(&ratio);
    let times = format!("{}{}", bound(row), digits.text(ratio.value));
    let interval = match ends(&ratio, digits) {
        Some(ends) => format!("{confidence} % interval: {ends}"),
        None => "no interval".to_owned(),
    };
    let estimate = match bound(row) {
        "" => "the estimate is",
        _ => "it sustains",
    };
    let first = match row.verdict {
        AnswerVerdict::Higher | AnswerVerdict::Lower => {
            format!("{b} sustains {times} times the load of {a} ({interval}; {place})")
        }
        AnswerVerdict::NoDifference => format!(
            "No difference was found between {b} and {a}: {b} sustains {times} times the load of \
             {a} ({interval}; {place})"
        ),
        AnswerVerdict::Unknown => format!(
            "It is unknown whether {b} sustains more load than {a}: {estimate} {times} times the \
             load of {a} ({interval}; {place})"
        ),
    };
    format!("{first}: {theirs} against {ours}{others}{remarks}.")
}

/// The words before a figure that is only a lower bound.
fn at_least(side: &AnswerSide) -> &'static str {
    if side.is_lower_bound { "at least " } else { "" }
}

/// The words before a ratio with a side that is only a lower bound.
fn bound(row: &AnswerRow) -> &'static str {
    if row.baseline.is_lower_bound { "at most " } else { at_least(&row.contender) }
}

/// What limits the answer of a side, as parts of a sentence.
fn remarks(name: &str, side: &AnswerSide) -> Vec<String> {
    let mut remarks = Vec::new();
    match side.known.map(|known| (known.low, known.high)) {
        _ if side.is_lower_bound => {
            remarks.push(format!("; no load that was tried on {name} missed the objectives"));
        }
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
    Table::of(rows.iter().map(|row| {
        let side = |side: &AnswerSide| value(at_least(side), side.known);
        [
            left("Cell", row.cell.to_string()),
            left("Objectives", row.objectives.as_deref().unwrap_or(MISSING)),
            left("Figure", format!("{} ({})", name(row.figure), row.unit())),
            right("Baseline", side(&row.baseline)),
            right("Contender", side(&row.contender)),
            right("Contender / baseline", value(bound(row), row.ratio)),
            left("Verdict", verdict(row)),
        ]
    }))
}

/// A value with its interval in brackets: `15.1 (12.4 to 17.3)`, `at least 15.1 (12.4 or more)`.
fn value(bound: &str, load: Option<SustainedLoad>) -> String {
    load.map_or_else(
        || MISSING.to_owned(),
        |load| {
            let digits = digits_of(&load);
            let text = format!("{bound}{}", digits.text(load.value));
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
pub(crate) fn verdict(row: &AnswerRow) -> String {
    let word = match row.verdict {
        AnswerVerdict::Higher => "higher",
        AnswerVerdict::Lower => "lower",
        AnswerVerdict::NoDifference => "no difference",
        AnswerVerdict::Unknown => "unknown",
    };
    let why = row.why_incomplete();
    let why = why.as_deref().or_else(|| match (row.verdict, row.ratio?) {
        (AnswerVerdict::Unknown, ratio) => Some(match (ratio.low, ratio.high) {
            (Some(_), Some(_)) => "the interval contains 1",
            (Some(_), None) => "the interval has no upper end",
            (None, Some(_)) => "the interval has no lower end",
            (None, None) => "there is no interval",
        }),
        _ => None,
    });
    why.map_or_else(|| word.to_owned(), |why| format!("{word}: {why}"))
}

/// The figures of both sides, their ratio and the verdict, in one line.
pub(crate) fn told(row: &AnswerRow) -> String {
    let ratio = value(bound(row), row.ratio);
    let [ours, theirs] =
        [&row.baseline, &row.contender].map(|side| value(at_least(side), side.known));
    format!("{ratio} times the baseline: {theirs} against {ours} {}: {}", row.unit(), verdict(row))
}

/// How to read the table.
pub(crate) fn explanation(comparison: &Comparison) -> String {
    let levels = comparison.answers.iter().map(|row| row.confidence);
    let level = significant(100.0 * levels.fold(1.0, f64::min));
    let margin = significant(100.0 * comparison.options.margin);
    format!(
        "In brackets: {level} % intervals. The interval of the ratio follows from the intervals of \
         both answers. \"higher\" and \"lower\": the interval of the ratio does not contain 1, or \
         one side serves no load at all. If both sides were measured, a drift of the machine \
         between the two measurements would look the same. \"no difference\": the interval of the \
         ratio lies within {margin} % of 1. Single trials are not compared, because each search or \
         sweep chooses its own loads."
    )
}

#[cfg(test)]
mod tests {
    use inferometer_analysis::compare::NoAnswer;
    use inferometer_model::cell::CellPlan;
    use inferometer_plan::search::Over;

    use super::*;

    fn side(value: f64, low: f64, high: Option<f64>) -> AnswerSide {
        let known = Some(SustainedLoad { value, low: Some(low), high });
        AnswerSide {
            known,
            is_undecided: false,
            is_lower_bound: false,
            missing: None,
            runs: 1,
            unanswered: 0,
        }
    }

    fn row(figure: AnswerFigure, baseline: AnswerSide, contender: AnswerSide) -> AnswerRow {
        let has_two_bounds = baseline.is_lower_bound && contender.is_lower_bound;
        let ratio = contender.known.zip(baseline.known).filter(|_| !has_two_bounds);
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
    fn the_sentence_states_the_ratio_of_the_loads_and_all_intervals() {
        use AnswerFigure::{HighestLoad, Knee, SaturatedOutputTokensPerS, SaturatedRequestsPerS};
        let (a, b) = (side(10.0, 9.0, Some(11.0)), side(20.0, 18.0, Some(22.0)));
        let open = AnswerSide { is_undecided: true, ..side(20.0, 18.0, None) };
        let lacks = |why: NoAnswer| AnswerSide {
            known: None,
            missing: Some(why),
            unanswered: 1,
            ..side(10.0, 9.0, None)
        };
        let bounded = AnswerSide { is_lower_bound: true, ..side(10.0, 9.0, None) };
        let unknown = |row: AnswerRow| AnswerRow { verdict: AnswerVerdict::Unknown, ..row };
        for (rows, text) in [
            (
                vec![row(HighestLoad, a.clone(), b.clone())],
                "B sustains 2.00 times the load of A (95 % interval: 1.74 to 2.31; 512 x 128, with ttft_p99<1s): 20 \
                 in flight (95 % interval: 18 to 22) against 10 in flight (95 % interval: 9 to 11).",
            ),
            (
                vec![row(HighestLoad, a.clone(), open)],
                "B sustains 2.00 times the load of A (95 % interval: 1.74 or more; 512 x 128, with ttft_p99<1s): 20 \
                 in flight (95 % interval: 18 or more) against 10 in flight (95 % interval: 9 to 11); the interval \
                 of B is one-sided; the answer of B is less precise than requested, because a limit ended it.",
            ),
            (
                vec![row(HighestLoad, a.clone(), lacks(NoAnswer::NoLoadMeets))],
                "512 x 128, with ttft_p99<1s: A sustains 10 in flight (95 % interval: 9 to 11), but no load meets \
                 the objectives on B.",
            ),
            (
                vec![unknown(row(HighestLoad, b.clone(), bounded.clone()))],
                "It is unknown whether B sustains more load than A: it sustains at least 0.500 times the load of A \
                 (95 % interval: 0.434 or more; 512 x 128, with ttft_p99<1s): at least 10 in flight (95 % interval: \
                 9 or more) against 20 in flight (95 % interval: 18 to 22); no load that was tried on B missed the \
                 objectives.",
            ),
            (
                vec![unknown(row(HighestLoad, bounded.clone(), b.clone()))],
                "It is unknown whether B sustains more load than A: it sustains at most 2.00 times the load of A \
                 (95 % interval: 2.31 or less; 512 x 128, with ttft_p99<1s): 20 in flight (95 % interval: 18 to 22) \
                 against at least 10 in flight (95 % interval: 9 or more); no load that was tried on A missed the \
                 objectives.",
            ),
            (
                vec![unknown(row(HighestLoad, bounded.clone(), bounded))],
                "It is unknown whether B sustains more load than A: both answers are only lower bounds (512 x 128, \
                 with ttft_p99<1s): at least 10 in flight (95 % interval: 9 or more) against at least 10 in flight \
                 (95 % interval: 9 or more); no load that was tried on A missed the objectives; no load that was \
                 tried on B missed the objectives.",
            ),
            (
                vec![row(HighestLoad, a.clone(), lacks(NoAnswer::Unknown))],
                "512 x 128, with ttft_p99<1s: A sustains 10 in flight (95 % interval: 9 to 11), but no load is \
                 known to meet the objectives on B.",
            ),
            (
                vec![
                    row(SaturatedRequestsPerS, a.clone(), b.clone()),
                    row(SaturatedOutputTokensPerS, a.clone(), b.clone()),
                    row(Knee, a.clone(), b.clone()),
                ],
                "B sustains 2.00 times the load of A (95 % interval: 1.74 to 2.31; 512 x 128, at saturation): 20 \
                 requests/s (95 % interval: 18 to 22) against 10 requests/s (95 % interval: 9 to 11); 20 output \
                 tokens/s (95 % interval: 18 to 22) against 10 output tokens/s (95 % interval: 9 to 11); the knee \
                 is at 20 in flight (95 % interval: 18 to 22) against 10 in flight (95 % interval: 9 to 11).",
            ),
            (
                vec![AnswerRow {
                    verdict: AnswerVerdict::Unknown,
                    ..row(HighestLoad, a.clone(), a)
                }],
                "It is unknown whether B sustains more load than A: the estimate is 1.00 times the load of A (95 % \
                 interval: 0.87 to 1.15; 512 x 128, with ttft_p99<1s): 10 in flight (95 % interval: 9 to 11) \
                 against 10 in flight (95 % interval: 9 to 11).",
            ),
        ] {
            assert_eq!(told(rows), text);
        }
    }
}
