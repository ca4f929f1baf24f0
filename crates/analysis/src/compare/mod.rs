//! Compares two runs: which figures differ, by how much, and whether that is more than chance. Pure
//! arithmetic over the repeats of their passes.
//!
//! The unit is a repeat, or a round with repeats of both: variation within a pass does not show how the
//! next pass would have come out. The times of the repeats show the design (`order`). If the runs were
//! measured in turn, a difference is a difference between them. If one was measured after the other, it
//! may be a change over time, so it is called neither better nor worse. All figures are judged together
//! (`rotation`), so that a server compared with itself differs in any figure in at most one of twenty
//! comparisons. Each interval is for one figure alone (`interval`).

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
pub use reproduction::{Among, Reproduction, ReproductionResult};
pub use row::BOUNDS_DRIFT;
pub use series::{Series, TABLE_LOAD};
pub use subject::Subject;
pub use unmatched::Unmatched;

use inferometer_model::cell::CellPlan;

/// The rate of false alarms over all figures together: a difference with at most this probability is
/// significant.
pub const FALSE_ALARMS: f64 = 0.05;

/// The fewest repeats on both sides, or rounds of both, with which a difference can be significant.
pub const FEWEST_REPEATS: usize = 4;

/// The options of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// Differences below this share do not matter: an interval within it is "no difference".
    pub margin: f64,
    /// The seed of the resamples.
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
    /// The options that were used.
    pub options: Options,
    /// In which order the repeats were measured; it is that of the rows with the most repeats.
    pub design: Design,
    /// What a reader must know first: the two did not measure the same.
    pub warnings: Vec<String>,
    /// Facts in which they differ: name, the baseline's, the contender's.
    pub differing: Vec<[String; 3]>,
    /// One row for each figure that both have.
    pub rows: Vec<Row>,
    /// Figures that only one of the two has.
    pub unmatched: Vec<Unmatched>,
}

/// One figure of both runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The cell; absent for the geometric mean over all cells.
    pub cell: Option<CellPlan>,
    /// The load of the pass, as text; [`TABLE_LOAD`] if two published tables state no load.
    pub load: String,
    /// The figure: `ttft_p99`, `output_tokens_per_s`.
    pub figure: String,
    /// Whether more of it is better.
    pub higher_is_better: bool,
    /// Mean over the repeats of the baseline.
    pub baseline: f64,
    /// Mean over the repeats of the contender.
    pub contender: f64,
    /// The number of repeats of each.
    pub repeats: [usize; 2],
    /// How much larger the contender's figure is, in percent: by the geometric mean of the ratios within
    /// rounds, or by the ratio of the geometric means.
    pub difference_pct: f64,
    /// 95 % interval of the difference of this row alone, by Student's t for the design; absent with
    /// fewer than three repeats or rounds.
    pub interval_pct: Option<[f64; 2]>,
    /// The probability of a difference this large in any of the rows, if nothing differs; absent with too
    /// few repeats.
    pub p: Option<f64>,
    /// In which order its repeats were measured.
    pub design: Design,
    /// Each run's repeats over time; absent with fewer than five.
    pub over_time: [Option<OverTime>; 2],
    /// The verdict.
    pub verdict: RowVerdict,
}

/// The verdict on a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowVerdict {
    /// The contender is better, beyond chance.
    Better,
    /// The contender is worse, beyond chance.
    Worse,
    /// It differs beyond chance, but a drift may be the cause: the two were not measured in turn.
    Differs,
    /// If there is a difference, it is smaller than the margin.
    NoDifference,
    /// One of the two has a single value, and cannot have more: a difference without an interval.
    WithoutError,
    /// Nothing is certain. With about this many rounds of both, a difference as large as the margin would
    /// be found in four of five comparisons.
    NotEnoughData {
        /// The number of rounds, each with one repeat of both.
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

/// The design of the rows with the most repeats. A figure that some repeats lack has fewer.
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
    /// Name of the contender.
    pub contender: String,
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests;
