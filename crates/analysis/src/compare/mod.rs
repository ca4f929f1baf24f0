//! Two runs against each other: which figures differ, by how much, and whether that is more than
//! chance. Pure arithmetic over the repeats of their passes.
//!
//! The unit is a repeat: what varies within a pass says nothing of how the next pass would have
//! come out. Whether a difference is one is judged by relabelling the repeats of both runs, over
//! all figures at once (`permutation`), so that a server compared with itself differs in any
//! figure in at most one of twenty comparisons. Intervals are for one figure each (`interval`).

mod gate;
mod interval;
mod permutation;
mod subject;
mod unmatched;

use serde::{Deserialize, Serialize};

pub use gate::{Condition, GateError, GateResult, Met, judge, parse as parse_gate};
pub use subject::{Series, Subject, TABLE_LOAD};
pub use unmatched::Unmatched;

use inferometer_model::cell::CellPlan;
use inferometer_stats as stats;

/// Differences from here on are told from chance at this rate, over all figures together.
pub const FALSE_ALARMS: f64 = 0.05;

/// The fewest repeats on both sides with which the relabelling can tell anything from chance:
/// three and three repeats can be labelled in 20 ways only.
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
    /// Name of what is held against it.
    pub contender: String,
    /// What was asked.
    pub options: Options,
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
    /// The load of the pass, in words; [`TABLE_LOAD`] for the columns of the published table.
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
    /// The contender's mean over the baseline's, less one, in percent.
    pub difference_pct: f64,
    /// 95 % bootstrap interval of the difference, of this row alone; absent below three repeats.
    pub interval_pct: Option<[f64; 2]>,
    /// The chance of a difference like this somewhere among the rows, if nothing differs; absent
    /// where there are too few repeats.
    pub p: Option<f64>,
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
    /// If there is a difference, it is smaller than the margin.
    NoDifference,
    /// Nothing can be said; about so many repeats of each would see a difference of the margin.
    NotEnoughData {
        /// Repeats of each run.
        needed: u32,
    },
}

/// Compares a run with a baseline.
///
/// # Errors
/// When they have no figure in common.
pub fn compare(
    baseline: &Subject,
    contender: &Subject,
    options: Options,
) -> Result<Comparison, NothingInCommon> {
    let pair = |series: &Series| {
        let other = contender.series.iter().find(|other| other.is_same_figure(series))?;
        Some((series.clone(), other.clone()))
    };
    let pairs: Vec<(Series, Series)> = baseline.series.iter().filter_map(pair).collect();
    if pairs.is_empty() {
        return Err(NothingInCommon {
            baseline: baseline.name.clone(),
            contender: contender.name.clone(),
        });
    }
    let mut all = subject::overall(&pairs);
    all.extend(pairs);
    let p = permutation::corrected(&all, options.seed);
    let rows = all.iter().zip(p).map(|(pair, p)| row(pair, p, options)).collect();
    let (warnings, differing) = baseline.differences(contender);
    Ok(Comparison {
        baseline: baseline.name.clone(),
        contender: contender.name.clone(),
        options,
        warnings,
        differing,
        rows,
        unmatched: unmatched::unmatched(baseline, contender),
    })
}

/// Two runs that cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{baseline} and {contender} have no figure in common: no cell with the same lengths and the \
     same load; measure both with one plan"
)]
pub struct NothingInCommon {
    /// Name of the baseline.
    pub baseline: String,
    /// Name of the other.
    pub contender: String,
}

fn row((a, b): &(Series, Series), p: Option<f64>, options: Options) -> Row {
    let (baseline, contender) = (mean(&a.values), mean(&b.values));
    let difference = contender / baseline - 1.0;
    let interval = interval::of_ratio(&a.values, &b.values, options.seed);
    let within = |[low, high]: [f64; 2]| low > -options.margin && high < options.margin;
    let verdict = match beyond_chance(a, b, p) {
        Some(verdict) => verdict,
        None if p.is_some() && interval.is_some_and(within) => RowVerdict::NoDifference,
        None => RowVerdict::NotEnoughData { needed: needed(a, b, options.margin) },
    };
    Row {
        cell: a.cell,
        load: a.load.clone(),
        figure: a.figure.clone(),
        higher_is_better: a.higher_is_better,
        baseline,
        contender,
        repeats: [a.values.len(), b.values.len()],
        difference_pct: 100.0 * difference,
        interval_pct: interval.map(|ends| ends.map(|end| 100.0 * end)),
        p,
        verdict,
    }
}

/// Whether the contender is better or worse, if that is more than chance.
fn beyond_chance(a: &Series, b: &Series, p: Option<f64>) -> Option<RowVerdict> {
    let is_better = (mean(&b.values) > mean(&a.values)) == a.higher_is_better;
    let verdict = if is_better { RowVerdict::Better } else { RowVerdict::Worse };
    p.filter(|p| *p <= FALSE_ALARMS).map(|_| verdict)
}

/// Repeats of each run with which a difference of the margin would be seen in four of five
/// comparisons of this one figure: 2 (1.96 + 0.84)^2 s^2 / margin^2, s relative (Cohen, 1988).
fn needed(a: &Series, b: &Series, margin: f64) -> u32 {
    let relative = |values: &[f64]| stats::spread(values).and_then(|spread| spread.cv);
    let spreads: Vec<f64> = [a, b].iter().filter_map(|series| relative(&series.values)).collect();
    if spreads.is_empty() {
        return FEWEST_REPEATS as u32 + 1;
    }
    let square = spreads.iter().map(|cv| cv * cv).sum::<f64>() / spreads.len() as f64;
    let n = (2.0 * 2.8_f64.powi(2) * square / margin.powi(2)).ceil();
    let have = a.values.len().min(b.values.len());
    // One that has as many and sees nothing needs more than the formula knows.
    let least = if have >= FEWEST_REPEATS { have + 1 } else { FEWEST_REPEATS };
    (n.min(1e6) as u32).max(least as u32)
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests;
