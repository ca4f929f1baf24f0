//! Compares two runs: which figures differ, by how much, and whether that is more than chance. This module only
//! computes: it reads no file and no clock.
//!
//! The statistical unit is a repeat, or a round with repeats of both runs. The reason: the variation within a pass does
//! not show how much passes differ from each other. The times of the repeats show the design (`order`). If the runs
//! were measured in turn, a difference is a difference between the servers. If one run was measured after the other, a
//! difference may be a change over time, so its verdict is neither better nor worse. All figures are judged together
//! (`rotation`). So at most one of twenty comparisons of a server with itself reports a difference in any figure. Each
//! interval is for one figure alone (`interval`).

mod answers;
mod gate;
mod interval;
mod model;
mod order;
mod over_time;
mod pairing;
mod power;
mod reproduction;
mod rotation;
mod row;
mod series;
mod subject;
mod tools;
mod trend;
mod unmatched;

use serde::{Deserialize, Serialize};

pub use answers::{AnswerFigure, AnswerRow, AnswerSide, AnswerVerdict, NoAnswer};
pub use gate::{Condition, GateError, GateResult, judge, parse as parse_gate};
pub use order::Design;
pub use over_time::{OverTime, smallest};
pub use reproduction::{Among, Reproduction, ReproductionResult};
pub use row::BOUNDS_DRIFT;
pub use series::{Series, TABLE_LOAD};
pub use subject::Subject;
pub use trend::{
    Differing, FEWEST_FOR_CHANGE, FEWEST_RUNS, FigureTrend, LevelChange, Trend, TrendRun, Workload,
};
pub use unmatched::Unmatched;

use inferometer_model::CellPlan;

/// The rate of false alarms over all figures together. A difference is significant if [`Row::p`] is at most this value.
pub const FALSE_ALARMS: f64 = 0.05;

/// The fewest repeats of each run, or rounds with both, for which a difference can be significant.
pub const FEWEST_REPEATS: usize = 4;

/// The options of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// The smallest relevant difference, as a fraction of 1. If a difference is not significant, and its interval lies
    /// between the negative of this margin and the margin, the verdict is "no difference".
    pub margin: f64,
    /// The seed of the random rotations and shuffles.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { margin: 0.05, seed: 0 }
    }
}

/// A comparison of one run with a baseline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The name of the baseline.
    pub baseline: String,
    /// The name of the run that is compared with the baseline.
    pub contender: String,
    /// The tools that measured the baseline and the contender; absent if one tool measured both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<[String; 2]>,
    /// The options of the comparison.
    pub options: Options,
    /// The order in which the repeats were measured, for the row with the most repeats.
    pub design: Design,
    /// Warnings that a reader must know first, for example that the two runs did different work.
    pub warnings: Vec<String>,
    /// Facts that differ: the name of the fact, its value for the baseline, and its value for the contender.
    pub differing: Vec<[String; 3]>,
    /// Whether both sides are the same run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_same_run: bool,
    /// Whether both sides are predictions. Then no drift of a machine can cause a difference.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub are_predictions: bool,
    /// If both sides are searches or sweeps: one row for each figure that the answers of both sides have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<AnswerRow>,
    /// The means over all cells, then one row for each figure that both runs have. Empty if the answers of both sides
    /// are compared.
    pub rows: Vec<Row>,
    /// Figures that only one of the two runs has.
    pub unmatched: Vec<Unmatched>,
    /// Why nothing is compared; absent if there are answers or rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nothing_compared: Option<String>,
}

/// One figure, compared between both runs. In the rows of `ab`, a repeat is a block, and means are geometric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The cell; absent for the geometric mean over all cells.
    pub cell: Option<CellPlan>,
    /// The load of the pass, as text; [`TABLE_LOAD`] if two published tables state no load.
    pub load: String,
    /// The name of the figure, such as `ttft_p99` or `output_tokens_per_s`.
    pub figure: String,
    /// Whether a higher value is better.
    pub higher_is_better: bool,
    /// Mean over the repeats of the baseline.
    pub baseline: f64,
    /// Mean over the repeats of the contender.
    pub contender: f64,
    /// The numbers of repeats of the baseline and of the contender.
    pub repeats: [usize; 2],
    /// How much larger the contender's figure is, in percent. It is estimated from the logarithms of the values, by the
    /// model of the design.
    pub difference_pct: f64,
    /// 95 % confidence interval of `difference_pct`, for this row alone, by Student's t for the design. Absent with
    /// fewer than three repeats or rounds.
    pub interval_pct: Option<[f64; 2]>,
    /// The probability of a difference at least this large in any of the rows, if nothing differs. Absent with fewer
    /// than [`FEWEST_REPEATS`] repeats or rounds.
    pub p: Option<f64>,
    /// The order in which the repeats of this figure were measured.
    pub design: Design,
    /// The trend and the correlation of each run's repeats; absent with fewer than five repeats.
    pub over_time: [Option<OverTime>; 2],
    /// The verdict on the difference.
    pub verdict: RowVerdict,
}

/// The verdict on a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowVerdict {
    /// The contender is significantly better.
    Better,
    /// The contender is significantly worse.
    Worse,
    /// The difference is significant, but a drift may be the cause: the two runs were not measured in turn, and the
    /// repeats of the baseline do not rule out a drift.
    Differs,
    /// The difference is not significant, and its interval lies within the margin.
    NoDifference,
    /// At least one run has a single value, and at least one run cannot be measured again. So the difference
    /// has no interval.
    #[serde(rename = "without_error")]
    NoInterval,
    /// The data show no difference, but do not exclude one as large as the margin. With about this many rounds, a
    /// difference as large as the margin would be found in four of five comparisons.
    NotEnoughData {
        /// The number of rounds, each with one repeat of both runs.
        needed: u32,
    },
}

/// Compares a run with a baseline.
///
/// # Errors
/// When the two have no cell in common.
pub fn compare(
    baseline: &Subject,
    contender: &Subject,
    options: Options,
) -> Result<Comparison, NothingInCommon> {
    let (contender, counted) = &pairing::paired(baseline, contender);
    let of_tables = [baseline, contender].map(|side| &side.loads_of_tables);
    let (baseline, contender) =
        (&baseline.with_loads(of_tables[1]), &contender.with_loads(of_tables[0]));
    let pair = |series: &Series| {
        let other = contender.series.iter().find(|other| other.is_same_figure(series))?;
        Some((series.clone(), other.clone()))
    };
    // Each search or sweep chooses its own loads, so the figures of its trials are not compared, only the answers.
    let has_answers = baseline.has_answers() && contender.has_answers();
    let pairs: Vec<(Series, Series)> = match has_answers {
        true => Vec::new(),
        false => baseline.series.iter().filter_map(pair).collect(),
    };
    let cells = contender.cells();
    if !baseline.cells().iter().any(|cell| cells.contains(cell)) {
        let empty = [baseline, contender].into_iter().find(|side| side.series.is_empty());
        let why = empty.map_or_else(
            || "they have no cell with the same lengths; measure both with one plan".to_owned(),
            |side| format!("{} has no figures: no request of it completed", side.name),
        );
        let (baseline, contender) = (baseline.name.clone(), contender.name.clone());
        return Err(NothingInCommon { baseline, contender, why });
    }
    let mut all = series::overall(&pairs);
    all.extend(pairs);
    let rows = row::rows(&all, options, baseline.is_fixed || contender.is_fixed);
    let (warnings, mut differing) = baseline.differences(contender);
    differing.extend(counted.iter().cloned());
    let tools = [baseline, contender].map(|side| side.tool.clone());
    let answers = answers::rows(&baseline.answers, &contender.answers, options.margin);
    let nothing_compared = match (answers.is_empty() && rows.is_empty(), has_answers) {
        (false, _) => None,
        (true, true) => Some(answers::why_nothing(&baseline.answers, &contender.answers)),
        (true, false) => Some("they have common cells, but no common metric at the same load"),
    };
    Ok(Comparison {
        baseline: baseline.name.clone(),
        contender: contender.name.clone(),
        tools: Some(tools).filter(|[ours, theirs]| ours != theirs),
        options,
        design: of_most_repeats(&rows),
        warnings,
        differing,
        is_same_run: baseline.is_same_run_as(contender),
        are_predictions: baseline.is_predicted && contender.is_predicted,
        answers,
        rows,
        unmatched: match has_answers {
            true => unmatched::answers(baseline, contender),
            false => unmatched::unmatched(baseline, contender),
        },
        nothing_compared: nothing_compared.map(str::to_owned),
    })
}

/// The design of the row with the most repeats. Other rows have fewer repeats if some repeats lack their figure.
fn of_most_repeats(rows: &[Row]) -> Design {
    let most = rows.iter().max_by_key(|row| row.repeats.iter().sum::<usize>());
    most.map_or(Design::Unknown, |row| row.design)
}

/// The error that two runs have no cell in common.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{baseline} and {contender} cannot be compared: {why}")]
pub struct NothingInCommon {
    /// The name of the baseline.
    pub baseline: String,
    /// The name of the contender.
    pub contender: String,
    /// The reason, in words.
    pub why: String,
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests;
