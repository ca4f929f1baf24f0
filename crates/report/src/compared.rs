//! The answer of a comparison in one or two sentences. The three main kinds of answers are: one run is faster, with the
//! difference in one figure; no difference was found; or it is unknown whether the runs differ. In the last case, the
//! answer states how many rounds are needed to find a difference, if this number is known. If some figures show no
//! difference, a first sentence states this.

use inferometer_analysis::compare::{Comparison, Row, RowVerdict};
use inferometer_analysis::cost::COMPARED;
use inferometer_analysis::ranking::FIGURES;
use inferometer_model::{Change, digits::counted};

use crate::{compared_answers, significant};

/// The answer in one to three sentences. For searches and sweeps: one sentence for each cell and tier. The last sentence
/// is about the cost, if both runs have a price.
pub(crate) fn answer(comparison: &Comparison) -> String {
    let costs = comparison.rows.iter().filter(|row| is_cost(row));
    let cost = first(costs).filter(|_| !comparison.is_same_run);
    let cost = cost.map(|row| format!(" Cost: {}.", told(row)));
    answer_on_speed(comparison) + &cost.unwrap_or_default()
}

fn is_cost(row: &Row) -> bool {
    COMPARED.iter().any(|(name, _)| *name == row.figure)
}

fn answer_on_speed(comparison: &Comparison) -> String {
    let Comparison { baseline, contender, rows, .. } = comparison;
    if comparison.is_same_run {
        return format!(
            "Both sides are the same run ({}): a run compared with itself shows no difference. Give two different \
             runs.",
            if baseline == contender {
                baseline.clone()
            } else {
                format!("{baseline}, {contender}")
            }
        );
    }
    if !comparison.answers.is_empty() {
        return compared_answers::answer(comparison);
    }
    if rows.is_empty() {
        let why = comparison.nothing_compared.as_deref();
        let why = why.unwrap_or("they have no common figure");
        return format!("{contender} and {baseline} cannot be compared: {why}.");
    }
    let on_speed = || rows.iter().filter(|row| !is_cost(row));
    let of = |is: fn(RowVerdict) -> bool| on_speed().filter(move |row| is(row.verdict));
    let better = || of(|verdict| verdict == RowVerdict::Better);
    let worse = || of(|verdict| verdict == RowVerdict::Worse);
    let count = format!(
        "of {}, {} better and {} worse",
        counted(on_speed().count(), "figure"),
        better().count(),
        worse().count()
    );
    match (first(better()), first(worse())) {
        (Some(row), None) => {
            format!("{contender} is faster than {baseline}: {}; {count}.", told(row))
        }
        (None, Some(row)) => {
            format!("{contender} is slower than {baseline}: {}; {count}.", told(row))
        }
        (Some(faster), Some(slower)) => format!(
            "{contender} is faster than {baseline} in some figures and slower in others: {}, but {}; {count}.",
            told(faster),
            told(slower)
        ),
        (None, None) => match first(of(|verdict| verdict == RowVerdict::Differs)) {
            Some(row) => format!(
                "{contender} differs from {baseline}, but a drift over time would look the same: {}.",
                told(row)
            ),
            None if rows.iter().all(|row| row.verdict == RowVerdict::NoDifference) => {
                no_difference(comparison)
            }
            None => unknown(comparison),
        },
    }
}

/// The answer if the interval of each row is inside the margin.
fn no_difference(comparison: &Comparison) -> String {
    let Comparison { baseline, contender, rows, options, .. } = comparison;
    let margin = significant(options.margin * 100.0);
    let shown = first(rows.iter()).map(told).unwrap_or_default();
    let (each, example) = if rows.len() == 1 { ("the", "") } else { ("each", "for example, ") };
    format!(
        "No difference was found between {contender} and {baseline} in {}: {each} 95 % interval is inside the \
         margin of {margin} %, so a larger difference is unlikely; {example}{shown}.",
        counted(rows.len(), "figure")
    )
}

/// The answer if no difference is significant, and at least one row has no interval or an interval that is not inside
/// the margin. Rows without a difference are stated first, if there are any.
fn unknown(comparison: &Comparison) -> String {
    let Comparison { rows, options, .. } = comparison;
    let open = || rows.iter().filter(|row| row.verdict != RowVerdict::NoDifference);
    let Some(row) = first(open().filter(|row| row.interval_pct.is_some())).or(first(open())) else {
        return String::new();
    };
    let excludes_zero = row.interval_pct.is_some_and(|[low, high]| low > 0.0 || high < 0.0);
    let few = match (excludes_zero, row.p) {
        (false, _) => String::new(),
        (true, None) => {
            "; this interval excludes 0, but the repeats are too few to decide".to_owned()
        }
        // The p-value is corrected for all rows together. The interval is only about its own row.
        (true, Some(_)) => format!(
            "; this interval excludes 0, but the repeats are too few to decide about {} together",
            counted(rows.len(), "figure")
        ),
    };
    let is_single = rows.iter().all(|row| row.repeats.contains(&1));
    if is_single && comparison.are_predictions {
        return single_predictions(comparison, row);
    }
    let single = match is_single {
        true => "; a single pass on a side cannot show whether a difference is chance",
        false => "",
    };
    let needed = rows.iter().filter_map(|row| match row.verdict {
        RowVerdict::NotEnoughData { needed } => Some(needed),
        _ => None,
    });
    let more = needed.max().map_or(String::new(), |needed| {
        let margin = significant(options.margin * 100.0);
        format!(
            "; to find a difference of {margin} % in every figure, about {needed} rounds of both are needed"
        )
    });
    format!("{}: {}{few}{single}{more}.", before_unknown(comparison), told(row))
}

/// The beginning of the answer of [`unknown`]: how many rows show no difference, if any, and what is unknown.
fn before_unknown(comparison: &Comparison) -> String {
    let Comparison { baseline, contender, rows, options, .. } = comparison;
    let same = || rows.iter().filter(|row| row.verdict == RowVerdict::NoDifference);
    let Some(shown) = first(same()) else {
        return format!("It is unknown whether {contender} differs from {baseline}");
    };
    let (each, example) =
        if same().count() == 1 { ("the", ":") } else { ("each", "; for example,") };
    let rest = match rows.len() - same().count() {
        1 => "the other figure differs".to_owned(),
        rest => format!("the other {rest} figures differ; for example"),
    };
    format!(
        "No difference was found between {contender} and {baseline} in {} of {} ({each} 95 % interval is inside the \
         margin of {} %){example} {}. It is unknown whether {rest}",
        same().count(),
        counted(rows.len(), "figure"),
        significant(options.margin * 100.0),
        told(shown),
    )
}

/// The answer for two predictions, if at least one side has a single pass of each load. Only `ab --predict` simulates
/// pairs of passes.
fn single_predictions(comparison: &Comparison, row: &Row) -> String {
    let Comparison { baseline, contender, .. } = comparison;
    let change = Change::of_percent(row.difference_pct);
    let which = match comparison.rows.iter().all(|row| row.repeats == [1, 1]) {
        true => "each has",
        false => "one of them has",
    };
    format!(
        "{contender} predicts that {} is {} {} with {baseline} ({}); the predictions cannot show whether this is \
         chance, because {which} a single pass of each load: `inferometer ab --predict` simulates both in many \
         pairs of blocks, and answers this.",
        row.figure,
        change.words(),
        change.than(),
        row.place()
    )
}

/// The row that is shown as an example of these rows. Rows over all cells come first, then the order of [`FIGURES`].
fn first<'a>(rows: impl Iterator<Item = &'a Row>) -> Option<&'a Row> {
    let place = |row: &Row| FIGURES.iter().position(|figure| *figure == row.figure);
    rows.min_by_key(|row| (row.cell.is_some(), place(row).unwrap_or(FIGURES.len())))
}

/// A row as a part of a sentence: `requests_per_s is 5.2 % higher (95 % interval +3.1 to +7.3 %; all cells)`.
fn told(row: &Row) -> String {
    let change = Change::of_percent(row.difference_pct);
    let interval = match row.interval_pct {
        Some(ends) => {
            let ratios = ends.map(|end| 1.0 + end / 100.0);
            format!("95 % interval {}", change.interval(ratios, 1))
        }
        None => "no interval".to_owned(),
    };
    format!("{} is {} ({interval}; {})", row.figure, change.words(), row.place())
}

#[cfg(test)]
mod tests {
    use inferometer_analysis::compare::{Design, Options};
    use inferometer_model::cell::CellPlan;

    use super::*;

    fn row(figure: &str, pct: f64, verdict: RowVerdict) -> Row {
        Row {
            cell: Some(CellPlan { input_length: 128, output_length: 32 }),
            load: "saturated".to_owned(),
            figure: figure.to_owned(),
            higher_is_better: figure.ends_with("_per_s"),
            baseline: 1.0,
            contender: 1.0 + pct / 100.0,
            repeats: [6, 6],
            difference_pct: pct,
            interval_pct: Some([pct - 2.0, pct + 2.0]),
            p: Some(0.01),
            design: Design::Alternated { rounds: 6 },
            over_time: [None; 2],
            verdict,
        }
    }

    fn told_of(rows: Vec<Row>) -> String {
        answer(&Comparison {
            baseline: "A".to_owned(),
            contender: "B".to_owned(),
            options: Options::default(),
            design: Design::Alternated { rounds: 6 },
            rows,
            ..Comparison::default()
        })
    }

    #[test]
    fn the_answer_names_the_faster_run_the_figure_the_difference_and_its_interval() {
        use RowVerdict::{Better, Differs, NoDifference, Worse};
        for (rows, text) in [
            (
                vec![row("ttft_p99", -9.0, Better), row("requests_per_s", 5.2, Better)],
                "B is faster than A: requests_per_s is 5.2 % higher (95 % interval +3.2 to +7.2 %; 128 x 32, \
                 saturated); of 2 figures, 2 better and 0 worse.",
            ),
            (
                vec![row("ttft_p99", 8529.3, Worse), row("requests_per_s", 0.2, NoDifference)],
                "B is slower than A: ttft_p99 is 86.3 times as high (95 % interval 86.3 to 86.3 times; 128 x \
                 32, saturated); of 2 figures, 0 better and 1 worse.",
            ),
            (
                vec![row("ttft_p99", 9.0, Worse), row("requests_per_s", 5.2, Better)],
                "B is faster than A in some figures and slower in others: requests_per_s is 5.2 % higher (95 % \
                 interval +3.2 to +7.2 %; 128 x 32, saturated), but ttft_p99 is 9.0 % higher (95 % interval \
                 +7.0 to +11.0 %; 128 x 32, saturated); of 2 figures, 1 better and 1 worse.",
            ),
            (
                vec![row("requests_per_s", 5.2, Differs)],
                "B differs from A, but a drift over time would look the same: requests_per_s is 5.2 % higher \
                 (95 % interval +3.2 to +7.2 %; 128 x 32, saturated).",
            ),
            (
                vec![row("requests_per_s", 0.5, NoDifference)],
                "No difference was found between B and A in 1 figure: the 95 % interval is inside the margin of \
                 5 %, so a larger difference is unlikely; requests_per_s is 0.5 % higher (95 % interval -1.5 to \
                 +2.5 %; 128 x 32, saturated).",
            ),
            (
                vec![row("ttft_p99", 1.0, NoDifference), row("requests_per_s", 0.5, NoDifference)],
                "No difference was found between B and A in 2 figures: each 95 % interval is inside the margin \
                 of 5 %, so a larger difference is unlikely; for example, requests_per_s is 0.5 % higher (95 % \
                 interval -1.5 to +2.5 %; 128 x 32, saturated).",
            ),
            (vec![], "B and A cannot be compared: they have no common figure."),
        ] {
            assert_eq!(told_of(rows), text);
        }
    }

    #[test]
    fn a_figure_is_unknown_unless_its_interval_is_inside_the_margin() {
        use RowVerdict::{NoDifference, NotEnoughData};
        let few = NotEnoughData { needed: 9 };
        for (rows, text) in [
            (
                vec![row("ttft_p99", 0.5, few), row("requests_per_s", 0.5, NoDifference)],
                "No difference was found between B and A in 1 of 2 figures (the 95 % interval is inside the \
                 margin of 5 %): requests_per_s is 0.5 % higher (95 % interval -1.5 to +2.5 %; 128 x 32, \
                 saturated). It is unknown whether the other figure differs: ttft_p99 is 0.5 % higher (95 % interval -1.5 to \
                 +2.5 %; 128 x 32, saturated); to find a difference of 5 % in every figure, about 9 rounds of \
                 both are needed.",
            ),
            (
                vec![
                    row("requests_per_s", 0.5, NoDifference),
                    row("e2e_mean", 0.6, NoDifference),
                    row("ttft_p50", 0.5, few),
                    row("ttft_p99", 0.5, few),
                ],
                "No difference was found between B and A in 2 of 4 figures (each 95 % interval is inside the \
                 margin of 5 %); for example, requests_per_s is 0.5 % higher (95 % interval -1.5 to +2.5 %; 128 x \
                 32, saturated). It is unknown whether the other 2 figures differ; for example: ttft_p50 is 0.5 % \
                 higher (95 % interval -1.5 to +2.5 %; 128 x 32, saturated); to find a difference of 5 % in every \
                 figure, about 9 rounds of both are needed.",
            ),
            (
                vec![Row { p: None, repeats: [3, 3], ..row("requests_per_s", -39.9, few) }],
                "It is unknown whether B differs from A: requests_per_s is 39.9 % lower (95 % interval -41.9 to \
                 -37.9 %; 128 x 32, saturated); this interval excludes 0, but the repeats are too few to decide; \
                 to find a difference of 5 % in every figure, about 9 rounds of both are needed.",
            ),
            (
                vec![row("requests_per_s", 5.2, few), row("ttft_p99", 0.5, NoDifference)],
                "No difference was found between B and A in 1 of 2 figures (the 95 % interval is inside the \
                 margin of 5 %): ttft_p99 is 0.5 % higher (95 % interval -1.5 to +2.5 %; 128 x 32, saturated). It \
                 is unknown whether the other figure differs: requests_per_s is 5.2 % higher (95 % interval +3.2 to +7.2 \
                 %; 128 x 32, saturated); this interval excludes 0, but the repeats are too few to decide about \
                 2 figures together; to find a difference of 5 % in every figure, about 9 rounds of both \
                 are needed.",
            ),
            (
                vec![Row { interval_pct: None, p: None, ..row("requests_per_s", 0.5, few) }],
                "It is unknown whether B differs from A: requests_per_s is 0.5 % higher (no interval; 128 x 32, \
                 saturated); to find a difference of 5 % in every figure, about 9 rounds of both are needed.",
            ),
        ] {
            assert_eq!(told_of(rows), text);
        }
    }

    #[test]
    fn two_predictions_state_their_difference_and_the_command_that_decides_about_chance() {
        for (repeats, which) in [([1, 1], "each has"), ([1, 5], "one of them has")] {
            let single = Row {
                interval_pct: None,
                p: None,
                repeats,
                ..row("requests_per_s", 5.2, RowVerdict::NoInterval)
            };
            let told = answer(&Comparison {
                baseline: "A".to_owned(),
                contender: "B".to_owned(),
                are_predictions: true,
                rows: vec![single],
                ..Comparison::default()
            });
            let expected = format!(
                "B predicts that requests_per_s is 5.2 % higher than with A (128 x 32, saturated); the predictions \
                 cannot show whether this is chance, because {which} a single pass of each load: `inferometer ab \
                 --predict` simulates both in many pairs of blocks, and answers this."
            );
            assert_eq!(told, expected);
        }
    }

    #[test]
    fn a_comparison_of_single_passes_says_that_they_cannot_show_chance() {
        let single = Row {
            interval_pct: None,
            p: None,
            repeats: [1, 1],
            ..row("requests_per_s", 5.2, RowVerdict::NoInterval)
        };
        assert_eq!(
            told_of(vec![single]),
            "It is unknown whether B differs from A: requests_per_s is 5.2 % higher (no interval; 128 x 32, \
             saturated); a single pass on a side cannot show whether a difference is chance."
        );
        let same = Comparison {
            baseline: "A".to_owned(),
            contender: "A".to_owned(),
            is_same_run: true,
            ..Comparison::default()
        };
        assert_eq!(
            answer(&same),
            "Both sides are the same run (A): a run compared with itself shows no difference. Give two different runs."
        );
    }

    #[test]
    fn the_example_in_the_answer_is_a_row_over_all_cells_if_there_is_one() {
        let over_all = Row { cell: None, ..row("ttft_p99", -9.0, RowVerdict::Better) };
        let text = told_of(vec![row("requests_per_s", 5.2, RowVerdict::Better), over_all]);
        assert!(text.contains("ttft_p99 is 9.0 % lower") && text.contains("all cells"), "{text}");
    }
}
