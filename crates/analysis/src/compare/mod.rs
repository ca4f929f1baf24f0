//! Two runs against each other: which figures differ, by how much, and whether that is more than
//! chance. Pure arithmetic over the repeats of their passes.
//!
//! The unit is a repeat, or a round of repeats of both: what varies within a pass says nothing of
//! how the next pass would have come out. The design is recognised from the times of the repeats
//! (`order`). Measured in turn, a difference is one of the two runs; measured one after the other it
//! may as well be one of the time, and is called neither better nor worse. Whether it is one at
//! all is judged over all figures at once (`rotation`), so that a server compared with itself
//! differs in any figure in at most one of twenty comparisons. Intervals are for one figure each
//! (`interval`).

mod gate;
mod interval;
mod model;
mod order;
mod over_time;
mod power;
mod reproduction;
mod rotation;
mod row;
mod series;
mod subject;
mod unmatched;

use serde::{Deserialize, Serialize};

pub use gate::{Condition, GateError, GateResult, Met, judge, parse as parse_gate};
pub use order::Design;
pub use over_time::{OverTime, smallest};
pub use reproduction::{Among, Outcome, Reproduction};
pub use row::BOUNDS_DRIFT;
pub use series::{Series, TABLE_LOAD};
pub use subject::Subject;
pub use unmatched::Unmatched;

use inferometer_model::cell::CellPlan;

/// Differences from this value on are significant at this rate, over all figures together.
pub const FALSE_ALARMS: f64 = 0.05;

/// The fewest repeats on both sides, or rounds of both, with which a difference can be significant.
pub const FEWEST_REPEATS: usize = 4;

/// What a comparison is asked.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// Differences below this share do not matter: an interval within it is "no difference".
    pub margin: f64,
    /// Makes the resamples.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { margin: 0.05, seed: 0 }
    }
}

/// A comparison of one run with a baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Name of the baseline.
    pub baseline: String,
    /// Name of what is compared with it.
    pub contender: String,
    /// What was asked.
    pub options: Options,
    /// In which order the repeats were measured: that of the rows with the most repeats.
    pub design: Design,
    /// What a reader must know first: the two did not do the same.
    pub warnings: Vec<String>,
    /// Facts in which they differ: name, the baseline's, the contender's.
    pub differing: Vec<[String; 3]>,
    /// One row for each figure that both have.
    pub rows: Vec<Row>,
    /// Figures that one of the two has and the other has not.
    pub unmatched: Vec<Unmatched>,
}

/// One figure of both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The cell; absent for the geometric mean over all cells.
    pub cell: Option<CellPlan>,
    /// The load of the pass, in words; [`TABLE_LOAD`] where two published tables state no more.
    pub load: String,
    /// The figure: `ttft_p99`, `output_tokens_per_s`.
    pub figure: String,
    /// Whether more of it is better.
    pub higher_is_better: bool,
    /// Mean over the repeats of the baseline.
    pub baseline: f64,
    /// Mean over the repeats of the contender.
    pub contender: f64,
    /// Repeats of each.
    pub repeats: [usize; 2],
    /// How much larger the contender's figure is, in percent: the geometric mean of the ratios within
    /// rounds, or the ratio of the geometric means.
    pub difference_pct: f64,
    /// 95 % interval of the difference, of this row alone, by Student's t of the design; absent
    /// below three repeats, or rounds.
    pub interval_pct: Option<[f64; 2]>,
    /// The chance of a difference like this somewhere among the rows, if nothing differs; absent
    /// where there are too few repeats.
    pub p: Option<f64>,
    /// In which order its repeats were measured.
    pub design: Design,
    /// Each run's repeats over time; absent below five.
    pub over_time: [Option<OverTime>; 2],
    /// What follows.
    pub verdict: RowVerdict,
}

/// What a row says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowVerdict {
    /// The contender is better, beyond chance.
    Better,
    /// The contender is worse, beyond chance.
    Worse,
    /// It differs beyond chance, and so it would by a drift: the two were not measured in turn.
    Differs,
    /// If there is a difference, it is smaller than the margin.
    NoDifference,
    /// One of the two has one value, and can have no other: a difference without an interval.
    WithoutError,
    /// Nothing can be said; in about so many rounds of both a difference of the margin would be
    /// found in four of five comparisons.
    NotEnoughData {
        /// Rounds, with one repeat of each.
        needed: u32,
    },
}

/// Compares a run with a baseline.
///
/// # Errors
/// When they have no cell in common.
pub fn compare(
    baseline: &Subject,
    contender: &Subject,
    options: Options,
) -> Result<Comparison, NothingInCommon> {
    let (baseline, contender) =
        (&baseline.with_loads_of(contender), &contender.with_loads_of(baseline));
    let pair = |series: &Series| {
        let other = contender.series.iter().find(|other| other.is_same_figure(series))?;
        Some((series.clone(), other.clone()))
    };
    let pairs: Vec<(Series, Series)> = baseline.series.iter().filter_map(pair).collect();
    let has = |cell: Option<CellPlan>| contender.series.iter().any(|other| other.cell == cell);
    if !baseline.series.iter().any(|series| has(series.cell)) {
        return Err(NothingInCommon {
            baseline: baseline.name.clone(),
            contender: contender.name.clone(),
        });
    }
    let mut all = series::overall(&pairs);
    all.extend(pairs);
    let rows = row::rows(&all, options, baseline.is_fixed || contender.is_fixed);
    let (mut warnings, differing) = baseline.differences(contender);
    if rows.is_empty() {
        warnings.push("they have common cells, but no metric at the same load".to_owned());
    }
    Ok(Comparison {
        baseline: baseline.name.clone(),
        contender: contender.name.clone(),
        options,
        design: of_most_repeats(&rows),
        warnings,
        differing,
        rows,
        unmatched: unmatched::unmatched(baseline, contender),
    })
}

/// The design of the rows with the most repeats: one whose figure some repeats lack has fewer.
fn of_most_repeats(rows: &[Row]) -> Design {
    let most = rows.iter().max_by_key(|row| row.repeats.iter().sum::<usize>());
    most.map_or(Design::Unknown, |row| row.design)
}

/// Two runs that cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{baseline} and {contender} cannot be compared: they have no cell with the same lengths; \
        measure both with one plan"
)]
pub struct NothingInCommon {
    /// Name of the baseline.
    pub baseline: String,
    /// Name of the other.
    pub contender: String,
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests;
