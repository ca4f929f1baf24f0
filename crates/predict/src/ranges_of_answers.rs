//! The ranges of the predicted answers of a search or a sweep, which include the error of the engine's model.

use std::cell::Cell;

use inferometer_analysis::{ModelRange, SearchAnswer, sweep::SweepAnswer, trials::Trials};
use inferometer_engine::EngineConfig;
use inferometer_engine::confidence::{Confidence, ErrorColumn, MeasuredOn, confidence};
use inferometer_model::{CellPlan, metrics::slo::JudgedMetric};
use inferometer_plan::{Plan, Procedure, search::SearchPlan};
use inferometer_run::{Context, RunError};

use crate::player::Player;

/// The ranges of the answers of a cell, each with its cell and its tier. `trials` are those of the prediction.
///
/// The throughput at saturation has the errors of the latency. A search is simulated twice more: on a server as slow as
/// the model allows, and on one as fast. A server that needs k times as long for everything meets a limit at 1/k of the
/// rate at which the simulated engine meets 1/k of this limit.
///
/// # Errors
/// If the plan cannot be simulated.
pub(crate) fn ranges_of_answers(
    plan: &Plan,
    context: &Context,
    config: &EngineConfig,
    cell: CellPlan,
    trials: &Trials,
) -> Result<Vec<(CellPlan, Option<String>, ModelRange)>, RunError> {
    let resolved = config.resolve().map_err(RunError::plan)?;
    let slots = resolved.limits.max_num_seqs;
    let sure = confidence(&resolved, cell, slots, &MeasuredOn::default());
    let calibrated = Cell::new(sure.is_calibrated(ErrorColumn::Latency));
    let (search, simulated) = match (trials, &plan.procedure) {
        (Trials::Search(trials), Procedure::Search(search)) => {
            (search, SearchAnswer::of_search(cell, trials))
        }
        (Trials::Sweep(trials), _) => {
            let answer = SweepAnswer::of_sweep(cell, trials, None);
            let range = answer.saturation.map(|found| {
                let rate = found.requests_per_s;
                let of = |rate| sure.interval_of_rate(ErrorColumn::Latency, rate);
                let [low, high] = [of(rate.low)[0], of(rate.high)[1]];
                (cell, None, ModelRange { low, high: Some(high), calibrated: calibrated.get() })
            });
            return Ok(Vec::from_iter(range));
        }
        _ => return Ok(Vec::new()),
    };
    let at_end = |end| {
        let plan = Plan {
            procedure: Procedure::Search(with_speed(search, &sure, end, &calibrated)),
            ..plan.clone()
        };
        let mut player = Player::new(&plan, context, config.clone())?;
        Ok::<_, RunError>(match player.cell(cell, &mut |_, _| Ok(()))? {
            Trials::Search(trials) => SearchAnswer::of_search(cell, &trials),
            Trials::Sweep(_) => Vec::new(),
        })
    };
    let [fast, slow] = [at_end(0)?, at_end(1)?];
    let times = sure.interval(ErrorColumn::Latency, 1.0);
    let scale = |load: f64, end: usize| match search.over {
        over if over.is_rate() => load / times[end],
        _ => load,
    };
    let pairs = simulated.into_iter().zip(slow.iter().zip(&fast));
    let ranges = pairs.filter_map(|(own, (slow, fast))| {
        let best = own.best()?;
        let least = slow.low.or(slow.best()).map_or(0.0, |load| scale(load, 1));
        let most = fast.high.or(fast.best().filter(|_| !fast.is_one_sided));
        let most = most.map(|load| scale(load, 0));
        let low = least.min(own.low.unwrap_or(best));
        let high = most.map(|most| most.max(own.high.unwrap_or(best)));
        Some((cell, own.tier, ModelRange { low, high, calibrated: calibrated.get() }))
    });
    Ok(ranges.collect())
}

/// The search with the limits that the simulated engine must meet instead, at one end of the range of each metric: 0
/// is the fastest server, 1 the slowest. Clears `calibrated` if the range of a metric is a guess.
fn with_speed(
    search: &SearchPlan,
    sure: &Confidence,
    end: usize,
    calibrated: &Cell<bool>,
) -> SearchPlan {
    let factor = |metric: JudgedMetric| {
        let column = match metric.name() {
            "ttft" => ErrorColumn::TtftP99,
            "tpot" | "itl" => ErrorColumn::Tpot,
            _ => ErrorColumn::Latency,
        };
        calibrated.set(calibrated.get() && sure.is_calibrated(column));
        1.0 / sure.interval(column, 1.0)[end]
    };
    let criteria = search.criteria.iter().map(|criterion| criterion.with_limits(factor)).collect();
    SearchPlan { criteria, ..search.clone() }
}
