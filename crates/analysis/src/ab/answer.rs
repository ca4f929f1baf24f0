//! The answer of a comparison as a document, and as the rows of a comparison of runs.

use inferometer_model::{CellPlan, Finding, PassPlan};
use serde::{Deserialize, Serialize};

use super::decision::{AbDecision, AbEnding};
use super::{order::Side, sequence::FEWEST_PAIRS};
use crate::compare::{
    Comparison, Condition, Design, GateError, GateResult, Options, Row, RowVerdict, judge,
};
use crate::verdict::Met;

/// The answer of a comparison of two servers in alternating blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AbAnswer {
    /// The answer in one sentence.
    pub sentence: String,
    /// Which server is faster, or that there is no relevant difference, or that neither is certain.
    pub decision: AbDecision,
    /// Why the comparison ended.
    pub ended_by: AbEnding,
    /// The two servers, A first.
    pub sides: [AbSide; 2],
    /// Whether A and B are the same server.
    pub one_server: bool,
    /// Whether both sides are predictions without noise, and all pairs have the same ratio. Then there is no sampling
    /// error: the two ends of `ratio_ci` are equal, or differ only by rounding.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_noise: bool,
    /// The cell and the load of every block, as text.
    pub place: String,
    /// The smallest relevant difference, as a share: 0.05 is 5 %.
    pub minimal_effect: f64,
    /// The figures, in the order of the plan. The first figure decides.
    pub figures: Vec<AbFigureAnswer>,
    /// The number of pairs of blocks.
    pub pairs: u32,
    /// The number of requests in each block.
    pub block_requests: u64,
    /// The number of requests at the start of each block whose latencies are left out of its figures. Throughput is
    /// computed from the time at which the first later request was sent.
    pub block_uncounted: u32,
    /// The number of planned requests in all blocks of both sides.
    pub requests: u64,
    /// The sum of the durations of all blocks of both sides, in seconds.
    pub seconds: f64,
    /// About how many pairs are needed in total for a decision; absent if there is a decision, or if too
    /// little is known for an estimate.
    pub needs_pairs: Option<u64>,
    /// The blocks in the order of measurement.
    pub blocks: Vec<AbBlock>,
    /// The estimates after each pair, for the figure that decides.
    pub course: Vec<AbStep>,
    /// Problems that a reader of the answer must know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

/// One of the two servers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbSide {
    /// The name of the server in the sentence and in reports.
    pub name: String,
    /// The identifier of the server's run in the store.
    pub run_id: String,
}

/// The estimates for one figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AbFigureAnswer {
    /// The name of the figure.
    pub figure: String,
    /// Whether a higher value is better.
    pub higher_is_better: bool,
    /// Whether this figure decides the comparison.
    pub decides: bool,
    /// The geometric mean of the figure over the blocks of A, in the unit of the figure (1/s or ms). A pair is left out
    /// if one of its blocks lacks the figure.
    pub a: Option<f64>,
    /// The geometric mean of the figure over the blocks of B, in the same unit and over the same pairs.
    pub b: Option<f64>,
    /// The geometric mean over pairs of the ratio B / A; absent if no pair has the figure.
    pub ratio: Option<f64>,
    /// The confidence interval of `ratio`. It stays valid if it is checked after every pair. Absent if the interval is
    /// unbounded, or if no pair has the figure.
    pub ratio_ci: Option<[f64; 2]>,
    /// The probability that the interval covers the true ratio. It is 0.95 for the figure that decides. For
    /// the other figures, it is 1 - 0.05 / their number, so that all their intervals together cover the true
    /// ratios with probability 0.95.
    pub level: f64,
    /// The number of pairs in which both blocks have the figure.
    pub pairs: u32,
    /// The assumed correlation between the ratios of neighbouring pairs, 0 or more. A higher correlation makes the
    /// interval wider.
    pub autocorrelation: f64,
}

/// A measured block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AbBlock {
    /// The number of the pair, from 1.
    pub pair: u32,
    /// The server of the block.
    pub side: Side,
    /// When the block began, in seconds since the first block began.
    pub started_s: f64,
    /// The duration of the block in seconds.
    pub duration_s: f64,
    /// The number of planned requests.
    pub requests: u64,
    /// The number of completed requests.
    pub complete: u64,
    /// The values of the figures, in the order of the plan; `None` where the block lacks the figure.
    pub values: Vec<Option<f64>>,
}

/// The estimate after one pair, for the figure that decides.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AbStep {
    /// The number of the pair.
    pub pair: u32,
    /// The ratio B / A within this pair.
    pub of_pair: f64,
    /// The geometric mean of the ratios of all pairs up to this one.
    pub ratio: f64,
    /// The confidence interval of `ratio`; absent if it is unbounded.
    pub ratio_ci: Option<[f64; 2]>,
}

impl AbFigureAnswer {
    /// The interval, unless it is so wide that it says nothing: its ends differ by more than a factor of 100.
    pub fn told_ci(&self) -> Option<[f64; 2]> {
        self.ratio_ci.filter(|[low, high]| *high <= 100.0 * low)
    }
}

impl AbAnswer {
    /// The figure that decides.
    pub fn deciding(&self) -> Option<&AbFigureAnswer> {
        self.figures.first()
    }

    /// The figures as rows of a comparison of B with A, the baseline. Reports read these rows. A figure that no pair
    /// has is left out. If both sides are predictions without noise, the rows have no intervals.
    pub fn comparison(&self, place: (CellPlan, &PassPlan)) -> Comparison {
        let mut comparison = self.with_intervals(place);
        if self.without_noise {
            comparison.rows.iter_mut().for_each(|row| row.interval_pct = None);
        }
        comparison
    }

    /// Like [`AbAnswer::comparison`], but keeps the interval of each row even if both sides are predictions without
    /// noise.
    fn with_intervals(&self, (cell, pass): (CellPlan, &PassPlan)) -> Comparison {
        let row = |figure: &AbFigureAnswer| row_of(self, figure, cell, pass);
        Comparison {
            baseline: self.sides[0].name.clone(),
            contender: self.sides[1].name.clone(),
            options: Options { margin: self.minimal_effect, seed: 0 },
            design: Design::Alternated { rounds: self.pairs as usize },
            rows: self.figures.iter().filter_map(row).collect(),
            ..Comparison::default()
        }
    }

    /// Judges conditions on the differences. A condition remains undecided if there are too few pairs for a decision,
    /// or no interval.
    ///
    /// # Errors
    /// When a condition names a figure that no pair has.
    pub fn judged(
        &self,
        conditions: &[Condition],
        place: (CellPlan, &PassPlan),
    ) -> Result<Vec<GateResult>, GateError> {
        let mut results = judge(conditions, &self.with_intervals(place))?;
        for result in &mut results {
            let figure = self.figures.iter().find(|it| it.figure == result.figure);
            let pairs = figure.map_or(0, |it| it.pairs as usize);
            if pairs < FEWEST_PAIRS || result.interval_pct.is_none() {
                result.met = Met::Undecided;
            }
            result.interval_pct = result.interval_pct.filter(|_| !self.without_noise);
        }
        Ok(results)
    }

    /// The number of completed requests and the number of planned requests of a side, over all its blocks.
    pub fn completed(&self, side: Side) -> [u64; 2] {
        let own = || self.blocks.iter().filter(|block| block.side == side);
        [own().map(|block| block.complete).sum(), own().map(|block| block.requests).sum()]
    }
}

/// A figure as a row of a comparison; `None` if no pair has the figure.
fn row_of(
    answer: &AbAnswer,
    figure: &AbFigureAnswer,
    cell: CellPlan,
    pass: &PassPlan,
) -> Option<Row> {
    let (baseline, contender, ratio) = (figure.a?, figure.b?, figure.ratio?);
    let limit = 1.0 + answer.minimal_effect;
    let verdict = match figure.ratio_ci {
        Some([low, _]) if low > 1.0 => better_if(figure.higher_is_better),
        Some([_, high]) if high < 1.0 => better_if(!figure.higher_is_better),
        Some([low, high]) if low > 1.0 / limit && high < limit => RowVerdict::NoDifference,
        _ => {
            let needed = answer.needs_pairs.unwrap_or(2 * u64::from(figure.pairs));
            RowVerdict::NotEnoughData { needed: u32::try_from(needed).unwrap_or(u32::MAX) }
        }
    };
    let percent = |ratio: f64| 100.0 * (ratio - 1.0);
    Some(Row {
        cell: Some(cell),
        load: pass.to_string(),
        figure: figure.figure.clone(),
        higher_is_better: figure.higher_is_better,
        baseline,
        contender,
        repeats: [figure.pairs as usize; 2],
        difference_pct: percent(ratio),
        interval_pct: figure.ratio_ci.map(|ends| ends.map(percent)),
        p: None,
        design: Design::Alternated { rounds: figure.pairs as usize },
        over_time: [None, None],
        verdict,
    })
}

fn better_if(is_better: bool) -> RowVerdict {
    if is_better { RowVerdict::Better } else { RowVerdict::Worse }
}

/// The blocks of one side as points of a chart: the start in seconds since the first block, and the value of the figure
/// that decides.
pub fn chart_points(answer: &AbAnswer, side: Side) -> Vec<(f64, Option<f64>)> {
    let own = answer.blocks.iter().filter(|block| block.side == side);
    own.map(|block| (block.started_s, block.values.first().copied().flatten())).collect()
}
