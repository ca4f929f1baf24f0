//! The answer of a comparison as a document, and as the rows of a comparison of runs.

use inferometer_load::PassPlan;
use inferometer_model::cell::CellPlan;
use inferometer_model::finding::Finding;
use serde::{Deserialize, Serialize};

use super::decision::{AbDecision, AbEnding};
use super::order::Side;
use super::sequence::FEWEST_PAIRS;
use crate::compare::{
    Comparison, Condition, Design, GateError, GateResult, Met, Options, Row, RowVerdict, judge,
};

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AbAnswer {
    /// The answer in one sentence.
    pub sentence: String,
    /// The decision.
    pub decision: AbDecision,
    /// Why it ended.
    pub ended_by: AbEnding,
    /// Both sides, A first.
    pub sides: [AbSide; 2],
    /// Whether both sides are the same server.
    pub one_server: bool,
    /// The cell and the load of a block, as text.
    pub place: String,
    /// The smallest relevant difference, as a share.
    pub minimal_effect: f64,
    /// The figures, the one that decides first.
    pub figures: Vec<AbFigureAnswer>,
    /// Pairs of blocks.
    pub pairs: u32,
    /// Requests of each block, and how many of them do not count.
    pub block_requests: u64,
    /// The first requests of each block, which do not count.
    pub block_uncounted: u32,
    /// Requests of all blocks, both sides together.
    pub requests: u64,
    /// Time of all blocks in seconds, both sides together.
    pub seconds: f64,
    /// About how many pairs are needed in total for a decision; absent if there is a decision, or if too
    /// little is known for an estimate.
    pub needs_pairs: Option<u64>,
    /// The blocks in the order of measurement.
    pub blocks: Vec<AbBlock>,
    /// What was known after each pair about the figure that decides.
    pub course: Vec<AbStep>,
    /// What a reader must know besides the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

/// A side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbSide {
    /// Its name.
    pub name: String,
    /// Its run in the store.
    pub run_id: String,
}

/// What is known of a figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AbFigureAnswer {
    /// The figure.
    pub figure: String,
    /// Whether more of it is better.
    pub higher_is_better: bool,
    /// Whether it is the figure that decides.
    pub decides: bool,
    /// The geometric mean over the blocks of A that have the figure, in its unit: 1/s or ms.
    pub a: Option<f64>,
    /// The same of B.
    pub b: Option<f64>,
    /// The geometric mean over pairs of the ratio B / A.
    pub ratio: Option<f64>,
    /// The interval of the ratio; it is valid at all times, however often it is checked.
    pub ratio_ci: Option<[f64; 2]>,
    /// The probability that the interval covers the truth. It is 95 % for the figure that decides. It is
    /// higher for the others, so that all of them together cover it with 95 %.
    pub level: f64,
    /// Pairs in which both blocks have the figure.
    pub pairs: u32,
    /// The assumed correlation of ratios of neighbouring pairs, 0 or more; it makes the interval wider.
    pub autocorrelation: f64,
}

/// A block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AbBlock {
    /// The number of its pair, from 1.
    pub pair: u32,
    /// The server.
    pub side: Side,
    /// When it began, in seconds since the first block.
    pub started_s: f64,
    /// How long it took, in seconds.
    pub duration_s: f64,
    /// Requests.
    pub requests: u64,
    /// Requests that completed.
    pub complete: u64,
    /// The figures, in the order of the plan.
    pub values: Vec<Option<f64>>,
}

/// What was known after a pair.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AbStep {
    /// The number of the pair.
    pub pair: u32,
    /// The ratio within this pair.
    pub of_pair: f64,
    /// The ratio over all pairs up to this one.
    pub ratio: f64,
    /// Its interval.
    pub ratio_ci: Option<[f64; 2]>,
}

impl AbAnswer {
    /// The figure that decides.
    pub fn deciding(&self) -> Option<&AbFigureAnswer> {
        self.figures.first()
    }

    /// The figures as rows of a comparison of B with A, the baseline. Gates and reports of comparisons
    /// use them.
    pub fn comparison(&self, (cell, pass): (CellPlan, &PassPlan)) -> Comparison {
        let row = |figure: &AbFigureAnswer| row_of(self, figure, cell, pass);
        Comparison {
            baseline: self.sides[0].name.clone(),
            contender: self.sides[1].name.clone(),
            options: Options { margin: self.minimal_effect, seed: 0 },
            design: Design::Alternated { rounds: self.pairs as usize },
            warnings: Vec::new(),
            differing: Vec::new(),
            rows: self.figures.iter().filter_map(row).collect(),
            unmatched: Vec::new(),
        }
    }
}

impl AbAnswer {
    /// Judges conditions on the differences. With too few pairs for a decision, or without an interval,
    /// nothing is known about chance, so a condition remains undecided.
    ///
    /// # Errors
    /// When a condition names a figure that no pair has.
    pub fn judged(
        &self,
        conditions: &[Condition],
        place: (CellPlan, &PassPlan),
    ) -> Result<Vec<GateResult>, GateError> {
        let mut results = judge(conditions, &self.comparison(place))?;
        for result in &mut results {
            let figure = self.figures.iter().find(|it| it.figure == result.figure);
            let pairs = figure.map_or(0, |it| it.pairs as usize);
            if pairs < FEWEST_PAIRS || result.interval_pct.is_none() {
                result.met = Met::Undecided;
            }
        }
        Ok(results)
    }

    /// The completed and the planned requests of a side, over all its blocks.
    pub fn completed(&self, side: Side) -> [u64; 2] {
        let own = || self.blocks.iter().filter(|block| block.side == side);
        [own().map(|block| block.complete).sum(), own().map(|block| block.requests).sum()]
    }
}

/// A figure as a row of a comparison; absent if no pair has it.
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

/// The blocks of one side as points of a chart: when they began, and the figure that decides.
pub fn places(answer: &AbAnswer, side: Side) -> Vec<(f64, Option<f64>)> {
    let own = answer.blocks.iter().filter(|block| block.side == side);
    own.map(|block| (block.started_s, block.values.first().copied().flatten())).collect()
}
