//! Computes the answer of a comparison from the blocks of both servers. The answer at the end of a run equals the
//! answer that is computed later from the logs of the run.

use inferometer_model::{CellPlan, PassPlan};
use inferometer_plan::ab::{AbFigure, AbPlan};

use super::answer::{AbAnswer, AbBlock, AbFigureAnswer, AbSide, AbStep};
use super::decision::{AbDecision, AbEnding, decision, difference, has_open_condition};
use super::order::{Side, order};
use super::sequence::{
    FEWEST_PAIRS, FEWEST_PAIRS_WITHOUT_DIFFERENCE, LEVEL, MeanEstimate, estimate,
};
use super::{block::Block, outlying, sentence};
use crate::compare::Condition;

/// If the width of a ratio's interval is less than this share of its lower end, the ratios of all pairs count as equal:
/// they differ only by rounding.
const SAME_RATIO: f64 = 1e-3;

/// The data of a comparison, without its plan.
#[derive(Clone, Copy, Debug)]
pub struct Sides<'a> {
    /// Both sides, A first.
    pub sides: &'a [AbSide; 2],
    /// Whether A and B are the same server.
    pub one_server: bool,
    /// The blocks of A and of B. All times are on one clock.
    pub blocks: [&'a [Block]; 2],
    /// The seed and the salt that decided which side came first in each pair.
    pub order: (u64, &'a str),
    /// Conditions on the differences. The comparison continues until those on the figure that decides are met or
    /// missed.
    pub gate: &'a [Condition],
    /// Whether the time limit cut off a block.
    pub out_of_time: bool,
    /// Whether both sides are predictions without noise.
    pub without_noise: bool,
}

impl AbAnswer {
    /// Computes the answer. Every block has this `cell` and this `pass`. `most_pairs` is the limit that was passed to
    /// `Ab::new`.
    pub fn of(
        plan: &AbPlan,
        (cell, pass): (CellPlan, &PassPlan),
        most_pairs: u32,
        given: Sides<'_>,
    ) -> Self {
        let pairs = pairs(given.blocks);
        let differences: Vec<f64> = pairs.iter().filter_map(|[a, b]| difference(a, b, 0)).collect();
        let decision = decision(plan, &differences);
        let all = || given.blocks.into_iter().flatten();
        let requests: u64 = all().map(|block| block.requests).sum();
        let seconds = all().map(Block::seconds).sum();
        let block_requests = u64::from(pass.requests().unwrap_or(0));
        let is_open = has_open_condition(given.gate, plan, &differences);
        let without = pairs.iter().rev().take_while(|[a, b]| difference(a, b, 0).is_none()).count();
        let is_over =
            requests + 2 * block_requests > plan.max_requests || pairs.len() as u32 >= most_pairs;
        let began = all().map(|block| block.started).min();
        let ended = all().map(|block| block.ended).max();
        let taken = began.zip(ended).map(|(began, ended)| ended.since(began));
        let is_late = plan.max_time.zip(taken).is_some_and(|(most, taken)| taken >= most);
        let ended_by = match (is_over, is_late || given.out_of_time) {
            _ if decision != AbDecision::Undecided && !is_open => AbEnding::Known,
            _ if without >= FEWEST_PAIRS => AbEnding::NoFigure,
            (true, _) => AbEnding::MaxRequests,
            (_, true) => AbEnding::MaxTime,
            _ => AbEnding::Interrupted,
        };
        let figures = figures(plan, &pairs);
        // Arrivals and prompts can differ from pair to pair. Then the ratios vary, although the engine has no noise.
        let is_same = |figure: &AbFigureAnswer| {
            figure.ratio_ci.is_none_or(|[low, high]| high - low < SAME_RATIO * low)
        };
        let without_noise = given.without_noise && figures.iter().all(is_same);
        let mut answer = Self {
            sentence: String::new(),
            decision,
            ended_by,
            sides: given.sides.clone(),
            one_server: given.one_server,
            without_noise,
            place: format!("{cell}, {pass}"),
            minimal_effect: plan.minimal_effect,
            figures,
            pairs: pairs.len() as u32,
            block_requests,
            block_uncounted: plan.uncounted,
            requests,
            seconds,
            needs_pairs: needs(plan, decision, &differences),
            blocks: blocks(given),
            course: course(&pairs),
            findings: outlying::finding(plan, &numbered(&pairs)).into_iter().collect(),
        };
        answer.sentence = sentence::sentence(&answer);
        answer
    }
}

/// The pairs with two complete blocks, in the order of their numbers.
fn pairs([a, b]: [&[Block]; 2]) -> Vec<[&Block; 2]> {
    let other = |pair: u32| b.iter().find(|block| block.pair == pair);
    let mut all: Vec<_> = a.iter().filter_map(|one| Some([one, other(one.pair)?])).collect();
    all.sort_by_key(|[a, _]| a.pair);
    all
}

/// For each pair, its number and the logarithm of its ratio B / A of the figure that decides.
fn numbered(pairs: &[[&Block; 2]]) -> Vec<(u32, f64)> {
    pairs.iter().filter_map(|[a, b]| Some((a.pair, difference(a, b, 0)?))).collect()
}

fn figures(plan: &AbPlan, pairs: &[[&Block; 2]]) -> Vec<AbFigureAnswer> {
    let others = plan.figures.len().saturating_sub(1).max(1) as f64;
    let of = |(at, figure): (usize, &AbFigure)| {
        let differences: Vec<f64> =
            pairs.iter().filter_map(|[a, b]| difference(a, b, at)).collect();
        let rate = if at == 0 { 1.0 - LEVEL } else { (1.0 - LEVEL) / others };
        let known = estimate(&differences, rate);
        let mean = |side: usize| {
            let with = pairs.iter().filter(|[a, b]| difference(a, b, at).is_some());
            let logs: Vec<f64> =
                with.filter_map(|pair| pair[side].values[at]).map(f64::ln).collect();
            (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
        };
        AbFigureAnswer {
            figure: figure.name(),
            higher_is_better: figure.higher_is_better(),
            decides: at == 0,
            a: mean(0),
            b: mean(1),
            ratio: known.map(|known| known.mean.exp()),
            ratio_ci: known.and_then(ratios),
            level: 1.0 - rate,
            pairs: differences.len() as u32,
            autocorrelation: known.map_or(0.0, |known| known.autocorrelation),
        }
    };
    plan.figures.iter().enumerate().map(of).collect()
}

fn ratios(known: MeanEstimate) -> Option<[f64; 2]> {
    known.ends().map(|ends| ends.map(f64::exp)).filter(|ends| ends.iter().all(|it| it.is_finite()))
}

/// The estimate after each pair; pairs without the figure are left out.
fn course(pairs: &[[&Block; 2]]) -> Vec<AbStep> {
    let mut differences = Vec::new();
    let step = |[a, b]: &[&Block; 2]| {
        let of_pair = difference(a, b, 0)?;
        differences.push(of_pair);
        let known = estimate(&differences, 1.0 - LEVEL)?;
        let ratio_ci = ratios(known);
        Some(AbStep { pair: a.pair, of_pair: of_pair.exp(), ratio: known.mean.exp(), ratio_ci })
    };
    pairs.iter().filter_map(step).collect()
}

/// The blocks in the order in which they were measured, on one clock.
fn blocks(given: Sides<'_>) -> Vec<AbBlock> {
    let all = || {
        Side::ALL
            .into_iter()
            .flat_map(|side| given.blocks[side.index()].iter().map(move |block| (side, block)))
    };
    let at = |block: &Block| block.started.0 as f64 / 1e9;
    let first = all().map(|(_, block)| at(block)).fold(f64::INFINITY, f64::min);
    let mut blocks: Vec<AbBlock> = all()
        .map(|(side, block)| AbBlock {
            pair: block.pair,
            side,
            // Rounded to microseconds, which is enough for a chart.
            started_s: ((at(block) - first) * 1e6).round() / 1e6,
            duration_s: block.seconds(),
            requests: block.requests,
            complete: block.complete,
            values: block.values.clone(),
        })
        .collect();
    let (seed, salt) = given.order;
    blocks.sort_by_key(|block| {
        let is_second = order(seed, salt, block.pair)[1] == block.side;
        (block.pair, is_second)
    });
    blocks
}

/// Estimates how many pairs a decision needs in total. The width of the interval falls with the square root of the
/// number of pairs. A decision needs an interval that excludes 1, or an interval within the smallest relevant
/// difference. The condition that needs fewer pairs determines the result.
fn needs(plan: &AbPlan, decision: AbDecision, differences: &[f64]) -> Option<u64> {
    let known = estimate(differences, 1.0 - LEVEL)?;
    if decision != AbDecision::Undecided {
        return None;
    }
    let distance = known.mean.abs().max(plan.minimal_effect.ln_1p() - known.mean.abs());
    let fewest = (differences.len() + 1).max(FEWEST_PAIRS) as u64;
    // Without an interval, no estimate is possible, but the minimum for a decision is known.
    let Some(half) = known.half else {
        return (differences.len() < FEWEST_PAIRS).then_some(fewest);
    };
    let needed = (differences.len() as f64 * (half / distance).powi(2)).ceil();
    let fewest = match known.mean.abs() < plan.minimal_effect.ln_1p() / 2.0 {
        // The decision will probably be that there is no difference.
        true => fewest.max(FEWEST_PAIRS_WITHOUT_DIFFERENCE as u64),
        false => fewest,
    };
    (needed < 1e9).then(|| (needed as u64).max(fewest))
}
