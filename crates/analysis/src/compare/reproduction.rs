//! The result of measuring a run again: the same within some percent, slower or faster by some percent, or undecided.
//! This module reads the rows of a comparison, and computes no statistics.

use serde::{Deserialize, Serialize};

use super::{Comparison, FEWEST_REPEATS, Row, RowVerdict, Series, Subject, series};
use crate::prediction::Columns;

/// The end of the name of a median.
const MEDIAN: &str = "_p50";
/// The figures that may be the headline (the figure that the answer states), in order of preference. The first one that
/// is available is used; if none is available, any figure.
const HEADLINES: [&str; 7] = [
    "requests_per_s", "output_tokens_per_s", "latency_per_output_token_ms", "latency_per_token_ms",
    "e2e_p50", "ttft_p50", "tpot_p50",
];

/// Whether a run was reproduced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reproduction {
    /// The result in one value.
    pub outcome: ReproductionResult,
    /// The row whose difference the answer states; absent if there is no row.
    pub headline: Option<Row>,
    /// Figures that are significantly worse and whose interval is not within the margin, with their cells and loads.
    pub worse: Vec<String>,
    /// Figures that are significantly better and whose interval is not within the margin, with their cells and loads.
    pub better: Vec<String>,
    /// Figures whose result is uncertain, with their cells and loads.
    pub undecided: Vec<String>,
    /// The position of a single value among the values of the other run, for the figure of the headline. Absent unless
    /// exactly one of the two runs has a single value.
    pub among: Option<Among>,
}

/// A single value of one run, compared with several values of the other run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Among {
    /// The single value.
    pub value: f64,
    /// The smallest value of the other run.
    pub smallest: f64,
    /// The largest value of the other run.
    pub largest: f64,
    /// The number of values of the other run.
    pub others: usize,
}

impl Among {
    /// Whether the value lies between the smallest and the largest value of the other run.
    pub fn is_inside(&self) -> bool {
        (self.smallest..=self.largest).contains(&self.value)
    }

    /// The probability that the value lies outside if nothing differs. Then each value of both runs is equally likely
    /// to be the smallest of all, and equally likely to be the largest.
    pub fn chance_outside(&self) -> f64 {
        2.0 / (self.others as f64 + 1.0)
    }
}

/// The result of a reproduction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum ReproductionResult {
    /// All figures are exactly equal, which is only possible for predictions.
    Identical,
    /// The throughputs, the means and the medians differ by at most `within_pct`.
    Same {
        /// The largest absolute end of an interval, in percent.
        within_pct: f64,
    },
    /// The new run is slower.
    Slower {
        /// The smallest difference in percent, by the interval of the headline.
        from_pct: f64,
        /// The largest difference in percent, by the interval of the headline.
        to_pct: f64,
    },
    /// The new run is faster.
    Faster {
        /// The smallest difference in percent, by the interval of the headline.
        from_pct: f64,
        /// The largest difference in percent, by the interval of the headline.
        to_pct: f64,
    },
    /// Some figures are better, and others worse.
    Mixed,
    /// In every row, at least one of the two has a single value, and at least one cannot be measured again.
    /// So the difference has no interval.
    WithoutError,
    /// The result is uncertain.
    NotDecided {
        /// The number of repeats of each run that would decide the result.
        needed: u32,
    },
}

impl Reproduction {
    /// The result, from the comparison of the new run with the run that it reproduces.
    pub fn of(comparison: &Comparison, baseline: &Subject, contender: &Subject) -> Self {
        let mut answer = Self::of_rows(comparison);
        let row = answer.headline.as_ref();
        answer.among = row.and_then(|row| among(row, baseline, contender));
        answer
    }

    fn of_rows(comparison: &Comparison) -> Self {
        let margin = 100.0 * comparison.options.margin;
        let within =
            |row: &&Row| row.interval_pct.is_some_and(|[low, high]| low > -margin && high < margin);
        let is_beyond = |row: &&Row| {
            let verdicts = [RowVerdict::Better, RowVerdict::Worse, RowVerdict::Differs];
            verdicts.contains(&row.verdict) && !within(row)
        };
        let rows = || comparison.rows.iter();
        let (worse, better): (Vec<&Row>, Vec<&Row>) =
            rows().filter(is_beyond).partition(|row| is_worse(row));
        let open: Vec<&Row> = rows().filter(|row| !is_beyond(row) && !within(row)).collect();
        let judged: Vec<&Row> = rows().filter(|row| is_central(row)).collect();
        // A figure without an interval or a probability does not count as the same.
        let is_same = !judged.is_empty() && judged.iter().all(|row| within(row) && row.p.is_some());
        let (outcome, headline) = match (worse.is_empty(), better.is_empty()) {
            (false, false) => (ReproductionResult::Mixed, headline(&worse)),
            (false, true) => slower(&worse),
            (true, false) => faster(&better),
            (true, true) if is_same => {
                let ends = judged.iter().filter_map(|row| row.interval_pct).flatten();
                let within_pct = ends.map(f64::abs).fold(0.0, f64::max);
                (ReproductionResult::Same { within_pct }, headline(&judged))
            }
            (true, true) => {
                let one_value = rows().all(|row| row.verdict == RowVerdict::NoInterval);
                let all: Vec<&Row> = rows().collect();
                let outcome = match one_value && !all.is_empty() {
                    true => ReproductionResult::WithoutError,
                    false => ReproductionResult::NotDecided { needed: needed(&judged) },
                };
                (outcome, headline(&all))
            }
        };
        let named = |rows: &[&Row]| rows.iter().map(|row| named(row)).collect();
        Self {
            outcome,
            headline: headline.cloned(),
            worse: named(&worse),
            better: named(&better),
            undecided: named(&open),
            among: None,
        }
    }
}

/// The single value of one run in a row, among several values of the other run.
fn among(row: &Row, baseline: &Subject, contender: &Subject) -> Option<Among> {
    let pair = |one: &Series| {
        let other = contender.series.iter().find(|other| other.is_same_figure(one))?;
        Some((one.clone(), other.clone()))
    };
    let mut pairs: Vec<(Series, Series)> = baseline.series.iter().filter_map(pair).collect();
    pairs.extend(series::overall(&pairs));
    let is_its =
        |one: &Series| (one.cell, &one.load, &one.figure) == (row.cell, &row.load, &row.figure);
    let (one, other) = pairs.iter().find(|(one, _)| is_its(one))?;
    let (value, others) = match (one.values.as_slice(), other.values.as_slice()) {
        ([value], others) | (others, [value]) if others.len() > 1 => (*value, others),
        _ => return None,
    };
    Some(Among {
        value,
        smallest: others.iter().copied().fold(f64::INFINITY, f64::min),
        largest: others.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        others: others.len(),
    })
}

/// The figure of a row, with its cell and load.
fn named(row: &Row) -> String {
    format!("{} ({})", row.figure, row.place())
}

fn is_worse(row: &Row) -> bool {
    (row.difference_pct > 0.0) != row.higher_is_better
}

/// Whether the figure is a throughput, a mean or a median. Tails are less certain, so they do not prevent two runs from
/// counting as the same.
fn is_central(row: &Row) -> bool {
    Columns::NAMES.contains(&row.figure.as_str()) || row.figure.ends_with(MEDIAN)
}

fn slower<'a>(worse: &[&'a Row]) -> (ReproductionResult, Option<&'a Row>) {
    let headline = headline(worse);
    let [from_pct, to_pct] = headline.map_or([0.0; 2], by_how_much);
    (ReproductionResult::Slower { from_pct, to_pct }, headline)
}

fn faster<'a>(better: &[&'a Row]) -> (ReproductionResult, Option<&'a Row>) {
    let headline = headline(better);
    let [from_pct, to_pct] = headline.map_or([0.0; 2], by_how_much);
    (ReproductionResult::Faster { from_pct, to_pct }, headline)
}

/// The interval of the absolute difference in percent, the smaller end first.
fn by_how_much(row: &Row) -> [f64; 2] {
    let [low, high] = row.interval_pct.unwrap_or([row.difference_pct; 2]);
    let sign = row.difference_pct.signum();
    let [one, other] = [low * sign, high * sign];
    [one.min(other).max(0.0), one.max(other)]
}

/// The row that states the answer, for the first available figure of [`HEADLINES`]. It is the row over all cells, or
/// else the row with the largest difference.
fn headline<'a>(rows: &[&'a Row]) -> Option<&'a Row> {
    let figure = HEADLINES.into_iter().find(|name| rows.iter().any(|row| row.figure == *name));
    let of_figure = rows.iter().filter(|row| figure.is_none_or(|name| row.figure == name));
    of_figure.copied().max_by(|one, other| {
        let key = |row: &Row| (row.cell.is_none(), row.difference_pct.abs());
        let ((one_all, one), (other_all, other)) = (key(one), key(other));
        one_all.cmp(&other_all).then(one.total_cmp(&other))
    })
}

/// The number of repeats of each run that would decide every row: the largest number that any row needs. If no row
/// states a number, it is one more than `FEWEST_REPEATS`.
fn needed(rows: &[&Row]) -> u32 {
    let needed = rows.iter().filter_map(|row| match row.verdict {
        RowVerdict::NotEnoughData { needed } => Some(needed),
        _ => None,
    });
    needed.max().unwrap_or(FEWEST_REPEATS as u32 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Design, Options};
    use inferometer_model::cell::CellPlan;

    fn row(figure: &str, interval: Option<[f64; 2]>, verdict: RowVerdict) -> Row {
        let [low, high] = interval.unwrap_or([-20.0, 20.0]);
        Row {
            cell: Some(CellPlan { input_length: 8, output_length: 8 }),
            load: "saturated".to_owned(),
            figure: figure.to_owned(),
            higher_is_better: figure.ends_with("_per_s"),
            baseline: 1.0,
            contender: 1.0,
            repeats: [5, 5],
            difference_pct: (low + high) / 2.0,
            interval_pct: interval,
            p: interval.map(|_| 0.01),
            design: Design::BeforeAfter { drift_is_bounded: false },
            over_time: [None; 2],
            verdict,
        }
    }

    fn answer(rows: Vec<Row>) -> Reproduction {
        Reproduction::of_rows(&Comparison {
            baseline: "a".to_owned(),
            contender: "b".to_owned(),
            options: Options { margin: 0.05, seed: 0 },
            design: Design::BeforeAfter { drift_is_bounded: false },
            rows,
            ..Comparison::default()
        })
    }

    #[test]
    fn the_reproduction_result_follows_from_intervals_and_verdicts() {
        use RowVerdict::{Better, Differs, NoDifference, NoInterval, NotEnoughData, Worse};
        let open = NotEnoughData { needed: 9 };
        let tokens = |interval, verdict| row("output_tokens_per_s", Some(interval), verdict);
        let tail = || row("ttft_p99", Some([-20.0, 20.0]), open);
        let same = |within_pct| ReproductionResult::Same { within_pct };
        for (rows, outcome) in [
            (vec![tokens([-1.0, 2.5], NoDifference)], same(2.5)),
            // An uncertain tail does not prevent two runs from counting as the same.
            (vec![tokens([-1.0, 2.5], NoDifference), tail()], same(2.5)),
            // The difference is significant, but within the margin.
            (vec![tokens([-2.0, -1.0], Differs)], same(2.0)),
            (
                vec![tokens([-15.0, -12.0], Differs), row("e2e_p50", Some([13.0, 17.0]), Worse)],
                ReproductionResult::Slower { from_pct: 12.0, to_pct: 15.0 },
            ),
            (
                vec![row("ttft_p50", Some([-9.0, -7.0]), Better)],
                ReproductionResult::Faster { from_pct: 7.0, to_pct: 9.0 },
            ),
            (
                vec![tokens([7.0, 9.0], Better), row("ttft_p50", Some([7.0, 9.0]), Worse)],
                ReproductionResult::Mixed,
            ),
            (vec![tokens([-9.0, 1.0], open)], ReproductionResult::NotDecided { needed: 9 }),
            (vec![row("ttft_p50", None, open)], ReproductionResult::NotDecided { needed: 9 }),
            (vec![row("ttft_p50", None, NoInterval)], ReproductionResult::WithoutError),
            (Vec::new(), ReproductionResult::NotDecided { needed: 5 }),
        ] {
            let told = format!("{rows:?}");
            assert_eq!(answer(rows).outcome, outcome, "{told}");
        }
    }

    #[test]
    fn a_single_value_is_compared_with_the_range_of_the_other_runs_values() {
        let series = |values: &[f64]| Series {
            load: "saturated".to_owned(),
            figure: "requests_per_s".to_owned(),
            values: values.to_vec(),
            ..Series::default()
        };
        let subject = |values: &[f64]| Subject::of_series("it", vec![series(values)]);
        let row = Row { cell: None, ..row("requests_per_s", None, RowVerdict::NoInterval) };
        let (one, three) = (subject(&[7.0]), subject(&[8.0, 6.0, 9.0]));
        let found = among(&row, &one, &three).unwrap();
        let expected = Among { value: 7.0, smallest: 6.0, largest: 9.0, others: 3 };
        assert_eq!(found, expected);
        assert_eq!((found.is_inside(), found.chance_outside()), (true, 0.5));
        assert_eq!(among(&row, &three, &one), Some(expected));
        assert!(!Among { value: 5.0, ..expected }.is_inside());
        assert_eq!(among(&row, &one, &one), None);
        assert_eq!(among(&row, &three, &three), None);
    }

    #[test]
    fn the_answer_uses_the_row_over_all_cells_and_lists_worse_and_undecided_rows() {
        let all =
            Row { cell: None, ..row("requests_per_s", Some([-9.0, -8.0]), RowVerdict::Worse) };
        let one = row("requests_per_s", Some([-90.0, -80.0]), RowVerdict::Worse);
        let open = row("ttft_p99", None, RowVerdict::NotEnoughData { needed: 9 });
        let answer = answer(vec![one, all.clone(), open]);
        assert_eq!(answer.outcome, ReproductionResult::Slower { from_pct: 8.0, to_pct: 9.0 });
        assert_eq!(answer.headline, Some(all));
        assert_eq!(answer.worse.len(), 2);
        assert_eq!(answer.undecided, ["ttft_p99 (8 x 8, saturated)"]);
    }
}
