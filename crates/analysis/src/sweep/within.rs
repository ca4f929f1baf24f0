//! Up to which load a sweep meets an objective.

use inferometer_model::{Statistic, metrics::slo::Objective};

use super::document::{LevelAnswer, LoadValue, SweepAnswer, WithinAnswer};
use crate::{Cell, judge::judge_pass};

/// With fewer requests beyond a percentile, it varies too much from trial to trial.
const FEWEST_BEYOND: f64 = 5.0;

/// The result of an objective at one load.
struct At {
    found: LoadValue,
    is_met: bool,
    is_uncertain: bool,
}

/// Judges an objective at the loads of a sweep, from the lowest on. The values are those of whole trials, with start-up
/// and drain. Of several trials at a load, the last one with the most completed requests counts.
pub(super) fn within(objective: &Objective, answer: &SweepAnswer, cell: &Cell) -> WithinAnswer {
    let loads = answer.levels.iter().filter(|level| level.by == answer.by);
    let judged: Vec<At> = loads.filter_map(|level| at(objective, level, cell)).collect();
    let met = judged.iter().take_while(|at| at.is_met).count();
    let of = |at: Option<usize>| at.and_then(|at| judged.get(at));
    let (last, next) = (of(met.checked_sub(1)), of(Some(met)));
    WithinAnswer {
        objective: objective.text.clone(),
        unit: objective.unit.name().to_owned(),
        met: last.map(|at| at.found),
        missed: next.map(|at| at.found),
        is_uncertain: [last, next].into_iter().flatten().any(|at| at.is_uncertain),
    }
}

fn at(objective: &Objective, level: &LevelAnswer, cell: &Cell) -> Option<At> {
    let passes = cell.passes.iter().filter(|pass| pass.is_at(level.by, level.load));
    let pass = passes.max_by_key(|pass| pass.outcomes.complete)?;
    let result = judge_pass(objective, cell, pass);
    let value = result.measured?;
    let beyond = objective.statistic.and_then(Statistic::share).map(|share| 1.0 - share);
    let ended = level.requests.saturating_sub(level.cancelled);
    let failed = ended.saturating_sub(level.completed) as f64;
    let has_failed = failed > beyond.unwrap_or(0.0) * ended as f64;
    let completed = pass.outcomes.complete as f64;
    let is_few = beyond.is_some_and(|beyond| beyond * completed < FEWEST_BEYOND);
    Some(At {
        found: LoadValue { load: level.load, value },
        is_met: result.met && !has_failed && !level.is_overloaded,
        is_uncertain: is_few || result.notes().next().is_some(),
    })
}

#[cfg(test)]
mod tests {
    use inferometer_model::fixture::steady;
    use inferometer_model::load::Bound;
    use inferometer_model::metrics::{Timeline, slo};
    use inferometer_model::{CellPlan, PassPlan};
    use inferometer_plan::search::Over;
    use inferometer_plan::sweep::SweepPlan;

    use super::*;
    use crate::PassSummary;
    use crate::cell::cell;
    use crate::fold::PassFold;
    use crate::sweep::{LevelFold, Sweep};

    /// For each load: requests in flight, TTFT in milliseconds, completed and failed requests.
    fn judged(objective: &str, loads: [(u32, f64, u64, u64); 3]) -> WithinAnswer {
        let plan: SweepPlan = serde_json::from_value(serde_json::json!({
            "by": "concurrency", "knee": 0.95, "confidence": 0.95, "precision": 0.25, "highest": null,
            "max_requests": 30_000, "max_trials": 40,
        }))
        .unwrap();
        let mut sweep = Sweep::new(&plan);
        let passes = loads.map(|(in_flight, ttft_ms, completed, failed)| {
            let plan = PassPlan::closed(in_flight, Bound::requests((completed + failed) as u32));
            let mut trial = LevelFold::of(&plan, 0.95).unwrap().finish();
            (trial.requests, trial.unfinished) = (completed + failed, 0);
            trial.completed = completed;
            sweep.add_trial(trial);
            let mut fold = PassFold::new(&plan);
            for _ in 0..completed {
                fold.add(&Timeline::new(&steady(0.0, ttft_ms, 10.0, 4)));
            }
            fold.finish()
        });
        assert_eq!(plan.by, Over::Concurrency);
        let of = CellPlan { input_length: 64, output_length: 4 };
        let answer = SweepAnswer::of_sweep(of, &sweep, None);
        let passes: Vec<PassSummary> = passes.into_iter().collect();
        within(&slo::parse(objective).unwrap()[0], &answer, &cell(64, 4, passes))
    }

    #[test]
    fn an_objective_is_met_up_to_the_load_before_the_first_that_is_slow_or_fails() {
        let slow =
            judged("ttft_p95<1s", [(1, 200.0, 100, 0), (4, 900.0, 100, 0), (16, 1_500.0, 100, 0)]);
        let loads = |it: &WithinAnswer| [it.met, it.missed].map(|found| found.map(|it| it.load));
        assert_eq!((loads(&slow), slow.is_uncertain), ([Some(4.0), Some(16.0)], false));
        assert_eq!((slow.unit.as_str(), slow.missed.map(|it| it.value)), ("s", Some(1.5)));
        // More than 5 % of the requests failed with 4 in flight, although those that completed were fast.
        let failing =
            judged("ttft_p95<1s", [(1, 200.0, 100, 0), (4, 90.0, 90, 10), (16, 90.0, 10, 90)]);
        assert_eq!(loads(&failing), [Some(1.0), Some(4.0)]);
        // A percentile of few requests is uncertain, whether the objective is met or missed.
        for ttft_ms in [900.0, 1_100.0] {
            let few =
                judged("ttft_p95<1s", [(1, ttft_ms, 24, 0), (4, 3_000.0, 24, 0), (16, 1.0, 24, 0)]);
            assert!(few.is_uncertain, "{few:?}");
        }
        let all = judged("e2e_p50<90s", [(1, 200.0, 20, 0), (4, 200.0, 20, 0), (16, 200.0, 20, 0)]);
        assert_eq!(loads(&all), [Some(16.0), None]);
    }
}
