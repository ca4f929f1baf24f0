//! Computes the answer of a sweep from its plan and its trials. All texts come from [`super::sentence`].

use inferometer_model::CellPlan;
use inferometer_model::metrics::slo::{self, Objective};
use inferometer_plan::search::Over;

use crate::{Cell, ModelRange};

use super::document::{
    FigureInterval, KneeAnswer, LevelAnswer, SaturationAnswer, SweepAnswer, WithinAnswer,
};
use super::saturation::{most_beyond, shared_error};
use super::{
    level::Level, outcome::SweepEnding, procedure::Sweep, sentence::sentence, within::within,
};

/// The objective of a sweep whose plan has none.
const OBJECTIVE: &str = "ttft_p95<1s";

impl SweepAnswer {
    /// Sets the reason why the server refused every request. `None` changes nothing. A sweep with such a reason shows
    /// nothing about loads.
    pub fn set_refusal(&mut self, refusal: Option<String>) {
        if refusal.is_some() {
            self.refusal = refusal;
            self.answer = sentence(self);
        }
    }

    /// Sets what the server said when it refused requests. Does nothing if no rate limit ended the sweep.
    pub fn set_rate_limit(&mut self, rejection: Option<&str>) {
        if self.outcome == SweepEnding::RateLimited {
            self.rate_limit = rejection.map(str::to_owned);
            self.answer = sentence(self);
        }
    }

    /// Sets up to which load the objectives of the plan are met, from the passes of the trials. Without an objective,
    /// the default one is judged.
    pub fn set_objectives(&mut self, objectives: &[Objective], cell: &Cell) {
        let default = if objectives.is_empty() { slo::parse(OBJECTIVE) } else { Ok(Vec::new()) };
        let of_default = default.iter().flatten().map(|one| within(one, self, cell));
        let is_measured = |found: &WithinAnswer| found.met.is_some() || found.missed.is_some();
        let of_plan = objectives.iter().map(|one| within(one, self, cell));
        self.within = of_plan.chain(of_default.filter(is_measured)).collect();
        self.answer = sentence(self);
    }

    /// Sets the range of the predicted saturation.
    pub fn set_model(&mut self, model: Option<ModelRange>) {
        self.model = model;
        self.answer = sentence(self);
    }

    /// Sets how a sweep ended, if its trials do not show this. There are two reasons: the rules may have changed after
    /// the sweep, or a time limit ended the sweep between two trials.
    pub fn set_ending(&mut self, ending: SweepEnding) {
        if self.outcome == SweepEnding::Unfinished {
            self.outcome = ending;
            self.answer = sentence(self);
        }
    }

    /// The answer of a sweep so far. `cards` is the number of observed cards. It is used if the plan does not state the
    /// number of cards.
    pub fn of_sweep(cell: CellPlan, sweep: &Sweep, cards: Option<u32>) -> Self {
        let plan = sweep.plan();
        let gpus = plan.gpus.or(cards).filter(|cards| *cards > 0);
        let mut levels: Vec<LevelAnswer> =
            sweep.levels().iter().map(|level| level_answer(level, plan.confidence, gpus)).collect();
        mark_front(&mut levels);
        let mut answer = Self {
            input_length: cell.input_length,
            output_length: cell.output_length,
            by: plan.by,
            answer: String::new(),
            confidence: plan.confidence,
            outcome: sweep.outcome(),
            saturation: saturation(sweep),
            knee: knee(sweep),
            knee_above: knee_above(sweep),
            within: Vec::new(),
            model: None,
            refusal: None,
            rate_limit: None,
            requests: sweep.requests(),
            trials: sweep.trials(),
            time_s: sweep.time_s(),
            gpus,
            levels,
        };
        answer.answer = sentence(&answer);
        answer
    }
}

fn level_answer(level: &Level, confidence: f64, gpus: Option<u32>) -> LevelAnswer {
    let ends = |found| FigureInterval::of(found, confidence);
    let output_tokens_per_s = ends(level.output_tokens_per_s);
    let tpot_ms = ends(level.tpot_ms).filter(|tpot| tpot.low > 0.0);
    LevelAnswer {
        by: level.by,
        load: level.load,
        trials: level.trials,
        requests: level.requests,
        counted: level.counted,
        completed: level.completed,
        rate_limited: level.rate_limited,
        cancelled: level.cancelled,
        is_settled: level.is_settled,
        is_overloaded: level.is_overloaded(),
        requests_per_s: ends(level.requests_per_s),
        output_tokens_per_s,
        ttft_ms: ends(level.ttft_ms),
        tpot_ms,
        latency_ms: ends(level.latency_ms),
        tokens_per_s_per_user: tpot_ms.map(|tpot| tpot.map(|tpot| 1e3 / tpot)),
        tokens_per_s_per_gpu: output_tokens_per_s
            .zip(gpus)
            .map(|(all, gpus)| all.map(|all| all / f64::from(gpus))),
        is_on_front: false,
        ties_front: false,
    }
}

/// Marks the levels on the Pareto front of two figures: output tokens per second in total, and output tokens per second
/// for each user. No other level is better in one of the two figures and at least as good in the other. A level ties with
/// the front if no other level is better in one of the two figures by more than both intervals, and at least as good in the
/// other.
fn mark_front(levels: &mut [LevelAnswer]) {
    let point = |level: &LevelAnswer| {
        let point = (level.output_tokens_per_s?.value, level.tokens_per_s_per_user?.value);
        // A load without a steady state may look better than it is.
        Some(point).filter(|_| level.is_settled)
    };
    let points: Vec<Option<(f64, f64)>> = levels.iter().map(point).collect();
    for (level, own) in levels.iter_mut().zip(&points) {
        level.is_on_front = own.is_some_and(|(all, user)| {
            let beats = |other: &(f64, f64)| {
                other.0 >= all && other.1 >= user && (other.0 > all || other.1 > user)
            };
            !points.iter().flatten().any(beats)
        });
    }
    // The intervals of both figures.
    type Ends = Option<(FigureInterval, FigureInterval)>;
    let of = |level: &LevelAnswer| -> Ends {
        let ends = (level.output_tokens_per_s?, level.tokens_per_s_per_user?);
        Some(ends).filter(|_| level.is_settled)
    };
    let all: Vec<Ends> = levels.iter().map(of).collect();
    for (level, own) in levels.iter_mut().zip(&all).filter(|(level, _)| !level.is_on_front) {
        level.ties_front = own.is_some_and(|(tokens, user)| {
            let beats = |(other, of_user): &(FigureInterval, FigureInterval)| {
                (other.low > tokens.high && of_user.value >= user.value)
                    || (of_user.low > user.high && other.value >= tokens.value)
            };
            !all.iter().flatten().any(beats)
        });
    }
}

fn saturation(sweep: &Sweep) -> Option<SaturationAnswer> {
    let level = sweep.saturation()?;
    let ends = |found| FigureInterval::of(found, sweep.plan().confidence);
    let is_highest = sweep.levels().last().is_some_and(|last| last.load == level.load);
    let more = match sweep.plan().by {
        Over::Concurrency if is_highest => most_beyond(),
        _ => 1.0 + shared_error(level),
    };
    let less = 1.0 - shared_error(level);
    let widened = |found: FigureInterval| FigureInterval {
        low: found.low * less,
        high: found.high * more,
        ..found
    };
    Some(SaturationAnswer {
        load: level.load,
        requests_per_s: ends(level.requests_per_s).map(widened)?,
        output_tokens_per_s: ends(level.output_tokens_per_s).map(widened),
        latency_ms: ends(level.latency_ms),
        falls_at: sweep.falls_beyond().map(|level| level.load),
    })
}

fn knee(sweep: &Sweep) -> Option<KneeAnswer> {
    let found = sweep.knee()?;
    let whole = sweep.plan().by == Over::Concurrency;
    let base = if whole { sweep.plateau()? } else { sweep.levels().first()? };
    let at = latency_at(sweep, found.load);
    let ratio = at.zip(base.latency_ms).map(|(at, base)| at / base.value);
    // A number in flight is a whole number, so the loads are rounded up.
    let up = |load: f64| if whole { (load - 1e-6).ceil().max(1.0) } else { load };
    Some(KneeAnswer {
        load: up(found.load),
        low: found.low.map(up),
        high: up(found.high),
        share: sweep.plan().knee,
        latency_ratio: ratio.filter(|ratio| ratio.is_finite()),
        latency_of: base.load,
    })
}

/// The highest load whose throughput is clearly below the knee's share of the throughput at the highest tried load. The
/// throughput at saturation is at least that at the highest tried load, so the knee lies above this load.
fn knee_above(sweep: &Sweep) -> Option<f64> {
    let plan = sweep.plan();
    if plan.by != Over::Concurrency || sweep.saturation().is_some() {
        return None;
    }
    let mut settled = sweep.levels().iter().filter(|level| level.is_settled).rev();
    let most = settled.next()?.requests_per_s?;
    let share = |level: &Level| Some(level.requests_per_s?.over(&most).interval(plan.confidence));
    let is_below = |level: &&Level| share(level).is_some_and(|[_, high]| high < plan.knee);
    settled.find(is_below).map(|level| level.load)
}

/// The mean latency at a load, interpolated linearly between the two nearest loads.
fn latency_at(sweep: &Sweep, load: f64) -> Option<f64> {
    let by = sweep.plan().by;
    let known = sweep.levels().iter().filter(|level| level.by == by && !level.is_overloaded());
    let known: Vec<(f64, f64)> =
        known.filter_map(|level| Some((level.load, level.latency_ms?.value))).collect();
    let above = known.iter().position(|(at, _)| *at >= load);
    match above {
        Some(0) => known.first().map(|(_, latency)| *latency),
        Some(above) => {
            let ((x0, y0), (x1, y1)) = (known[above - 1], known[above]);
            Some(y0 + (y1 - y0) * (load - x0) / (x1 - x0))
        }
        // Above all known loads: the latency at the highest of them, if it is near.
        None => known.last().filter(|(at, _)| *at > 0.95 * load).map(|(_, latency)| *latency),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_ties_with_the_front_unless_another_load_is_clearly_better() {
        let level = |tokens: f64, user: f64, half: f64| {
            let ends = |value: f64| serde_json::json!({ "value": value, "low": value - half, "high": value + half });
            serde_json::from_value::<LevelAnswer>(serde_json::json!({
                "by": "concurrency", "load": 1.0, "trials": 1, "requests": 9, "counted": 9, "completed": 9,
                "is_settled": true, "is_overloaded": false, "requests_per_s": null,
                "output_tokens_per_s": ends(tokens), "ttft_ms": null, "tpot_ms": null, "latency_ms": null,
                "tokens_per_s_per_user": ends(user), "is_on_front": false,
            }))
            .expect("a level")
        };
        let mut levels = vec![
            level(100.0, 50.0, 1.0),
            level(200.0, 40.0, 1.0),
            // Slightly worse in both than the one before, and clearly worse in one.
            level(199.0, 39.5, 1.0),
            level(150.0, 39.0, 1.0),
        ];
        mark_front(&mut levels);
        let found = levels.iter().map(|level| (level.is_on_front, level.ties_front));
        let expected = [(true, false), (true, false), (false, true), (false, false)];
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }
}
