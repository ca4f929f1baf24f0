//! Chooses the next load, and decides when the answer is known.

mod lengths;

use std::time::Duration;

use inferometer_model::{Bound, OpenPlan, PassPlan, load::Level as LoadLevel};
use inferometer_plan::{search::Over, sweep::SweepPlan};

use super::knee::{Knee, knee};
use super::saturation::{Saturated, is_more, saturated, seems_flat, shared_error};
use super::visits::widen;
use super::{estimate::FEWEST_TRIALS, fold::LevelTrial, level::Level, outcome::SweepEnding};

/// The factor from one load to the next until the server is saturated. If there is little time, the highest loads are
/// reached in fewer trials.
const STRIDE: f64 = 2.0;
const STRIDE_IN_A_HURRY: f64 = 4.0;
/// A time limit up to this long is little time.
const LITTLE_TIME: Duration = Duration::from_secs(120);
/// If there is little time: the most trials at a load, and those before loads around the knee are tried.
const MOST_VISITS: u32 = 3;
const MOST_BEFORE_KNEE: u32 = 2;
/// The most trials at a load that does not yet show whether the server is saturated.
const MOST_UNCLEAR: u32 = 4;
/// The loads on both sides of the knee may differ by at most this factor, or by 1, before trials are made longer.
const BRACKET: f64 = 1.2;
/// A level is at the knee if its load differs from the load of the knee by at most this share.
const AT_KNEE: f64 = 0.02;
/// If a larger share of a trial's requests was refused because the client sends too many, the sweep ends.
const MOST_RATE_LIMITED: f64 = 0.02;
/// A rate that exceeds the capacity by more than this factor is too high to show the limit of the server.
const FAR_ABOVE: f64 = 1.6;
/// The rate that replaces such a rate exceeds the capacity by this factor.
const ABOVE: f64 = 1.25;

/// The next trial of a sweep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NextLevel {
    /// The unit of the load: a sweep by rate begins with a trial of one request in flight.
    pub by: Over,
    /// The load: requests in flight, or requests per second.
    pub load: f64,
    /// The number of requests of the trial.
    pub requests: u64,
}

impl NextLevel {
    /// The pass of the trial, derived from the pass of the plan.
    pub fn pass(self, of_plan: &PassPlan) -> PassPlan {
        let requests = u32::try_from(self.requests).unwrap_or(u32::MAX);
        let mut pass = of_plan.clone();
        match &mut pass {
            PassPlan::Open(OpenPlan { rate, bound, .. }) if self.by == Over::Rate => {
                *rate = LoadLevel::Constant(self.load);
                bound.requests = Some(requests);
            }
            _ => pass = PassPlan::closed(self.load as u32, Bound::requests(requests)),
        }
        pass
    }
}

/// A sweep in progress: it requests trials and gets their results.
#[derive(Clone, Debug)]
pub struct Sweep {
    plan: SweepPlan,
    trials: Vec<LevelTrial>,
    levels: Vec<Level>,
    /// Whether the time limit has ended the sweep.
    is_out_of_time: bool,
    /// The used part of the time limit, in seconds, from the last call of `set_time`; 0 before the first call.
    taken_s: f64,
}

impl Sweep {
    /// Starts a sweep without trials.
    pub fn new(plan: &SweepPlan) -> Self {
        let (trials, levels) = (Vec::new(), Vec::new());
        Self { plan: plan.clone(), trials, levels, is_out_of_time: false, taken_s: 0.0 }
    }

    /// Records that the time limit has ended the sweep. No further trial follows.
    pub fn time_is_over(&mut self) {
        self.is_out_of_time = true;
    }

    /// Sets the used part of the time limit, in seconds. This part includes the time of the trials and other time, such
    /// as warm-up and pauses. If this function is never called, only the time of the trials counts.
    pub fn set_time(&mut self, taken_s: f64) {
        self.taken_s = taken_s;
    }

    /// The plan of the sweep.
    pub fn plan(&self) -> &SweepPlan {
        &self.plan
    }

    /// Adds the result of a trial. A trial with requests that were not sent, did not end, or have no record is ignored.
    pub fn add_trial(&mut self, trial: LevelTrial) {
        if trial.unfinished > 0 {
            return;
        }
        self.trials.push(trial);
        let mut loads: Vec<(Over, f64)> =
            self.trials.iter().map(|one| (one.by, one.load)).collect();
        // The trial with one request in flight comes before every rate.
        loads.sort_by(|a, b| {
            (a.0 == Over::Rate, a.1)
                .partial_cmp(&(b.0 == Over::Rate, b.1))
                .unwrap_or(std::cmp::Ordering::Equal)
        });
        loads.dedup();
        let of = |(by, load): (Over, f64)| {
            let own = self.trials.iter().filter(|one| one.by == by && one.load == load);
            Level::of(&own.collect::<Vec<_>>())
        };
        self.levels = loads.into_iter().filter_map(of).collect();
        if self.is_in_a_hurry() {
            widen(&mut self.levels, &self.trials, self.plan.confidence);
        }
    }

    /// The figures at each load, in the order of loads. One request in flight comes before all rates.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// The latest trial that was not ignored.
    pub fn last(&self) -> Option<&LevelTrial> {
        self.trials.last()
    }

    /// The number of trials so far.
    pub fn trials(&self) -> u32 {
        self.trials.len() as u32
    }

    /// The number of requests of all trials so far.
    pub fn requests(&self) -> u64 {
        self.trials.iter().map(|trial| trial.requests).sum()
    }

    /// The duration of all trials together, in seconds.
    pub fn time_s(&self) -> f64 {
        self.trials.iter().map(|trial| trial.span_s).sum()
    }

    /// The level at which the server is saturated; `None` if no saturation is shown.
    pub fn saturation(&self) -> Option<&Level> {
        self.saturated().map(|found| &self.levels[found.at])
    }

    /// The lowest level whose throughput does not differ significantly from the throughput at saturation: the start of
    /// the plateau. `None` if no saturation is shown.
    pub fn plateau(&self) -> Option<&Level> {
        let found = self.saturated()?;
        let most = self.levels[found.at].requests_per_s?;
        let is_less = |level: &&Level| {
            let share = level.requests_per_s.map(|one| one.over(&most));
            share.is_none_or(|share| share.interval(self.plan.confidence)[1] < 1.0)
        };
        self.levels[..=found.at].iter().find(|level| !is_less(level))
    }

    /// A level above the level of saturation at which throughput is clearly lower; `None` if there is none.
    pub fn falls_beyond(&self) -> Option<&Level> {
        let found = self.saturated()?;
        let (at, shown_at) = (&self.levels[found.at], &self.levels[found.shown_at]);
        (found.at < found.shown_at && is_more(at, shown_at, self.plan.confidence))
            .then_some(shown_at)
    }

    fn saturated(&self) -> Option<Saturated> {
        saturated(&self.levels, self.plan.confidence)
    }

    /// The knee; `None` if no saturation is shown, or if the knee cannot be estimated.
    pub fn knee(&self) -> Option<Knee> {
        let found = self.saturated()?;
        match self.plan.by {
            Over::Concurrency => {
                knee(&self.levels[..=found.at], self.plan.knee, self.plan.confidence)
            }
            // Below saturation, the throughput of an open loop equals its rate.
            _ => {
                let level = &self.levels[found.at];
                let (most, error) = (level.requests_per_s?, shared_error(level));
                let [low, high] = most.interval(self.plan.confidence);
                let share = self.plan.knee;
                let low = Some((share * low * (1.0 - error)).max(0.0));
                Some(Knee { load: share * most.value, low, high: share * high * (1.0 + error) })
            }
        }
    }

    /// How the sweep ended, or that it has not ended.
    pub fn outcome(&self) -> SweepEnding {
        self.step().err().unwrap_or(SweepEnding::Unfinished)
    }

    /// The next trial; `None` when the sweep has ended.
    pub fn next(&self) -> Option<NextLevel> {
        self.step().ok()
    }

    fn step(&self) -> Result<NextLevel, SweepEnding> {
        if self.trials() > 0 && self.trials.iter().all(|trial| trial.completed == 0) {
            return Err(SweepEnding::NothingCompleted);
        }
        let is_limited = |trial: &LevelTrial| {
            trial.rate_limited as f64 > MOST_RATE_LIMITED * trial.requests as f64
        };
        if self.trials.iter().any(is_limited) {
            return Err(SweepEnding::RateLimited);
        }
        let saturated = self.saturated();
        let wanted = match (self.plan.by, saturated) {
            (_, None) => self.out(),
            (Over::Concurrency, Some(found)) => self.near_knee(found),
            (_, Some(found)) => self.near_capacity(found),
        };
        if self.is_out_of_time {
            return Err(wanted.err().unwrap_or(SweepEnding::TimeSpent));
        }
        if self.trials() >= self.plan.max_trials {
            return Err(wanted.err().unwrap_or(SweepEnding::TrialsSpent));
        }
        let next = wanted.and_then(|wanted| self.afforded(wanted));
        let most = match (&next, saturated) {
            (Err(_), _) => MOST_VISITS,
            (Ok(_), Some(_)) => MOST_BEFORE_KNEE,
            (Ok(_), None) => return next,
        };
        self.revisit(most).map_or(next, Ok)
    }

    fn afforded(&self, wanted: NextLevel) -> Result<NextLevel, SweepEnding> {
        Ok(NextLevel { requests: self.affordable(wanted)?, ..wanted })
    }

    /// If there is little time: another trial at the load with the fewest trials, fewer than `most`, from the highest load
    /// on, if it ends in time; not at the load of the last trial. On its way down, the sweep meets the server at another
    /// time than on its way up, so both show how much the server changes meanwhile.
    fn revisit(&self, most: u32) -> Option<NextLevel> {
        if !self.is_in_a_hurry() || self.plan.by != Over::Concurrency {
            return None;
        }
        let last = self.last().map(|trial| trial.load);
        let is_open = |level: &&Level| level.trials < most && Some(level.load) != last;
        let mut levels: Vec<&Level> = self.levels.iter().rev().filter(is_open).collect();
        levels.sort_by_key(|level| level.trials);
        levels.into_iter().find_map(|level| {
            let Level { by, load, last_requests, .. } = *level;
            self.afforded(NextLevel { by, load, requests: last_requests }).ok()
        })
    }

    fn is_in_a_hurry(&self) -> bool {
        self.plan.max_time.is_some_and(|most| most <= LITTLE_TIME)
    }

    /// The factor from the highest load to the next one. A larger step must fit into the time that is left even if the
    /// throughput no longer grows.
    fn stride(&self, top: &Level) -> f64 {
        let load = STRIDE_IN_A_HURRY * top.load;
        let throughput = top.requests_per_s.map_or(0.0, |found| found.value);
        let fits = self.shortest(top.by, load) as f64 <= throughput * self.time_left_s();
        if self.is_in_a_hurry() && top.by == Over::Concurrency && fits {
            STRIDE_IN_A_HURRY
        } else {
            STRIDE
        }
    }

    /// The next trial, as long as no saturation is shown: at a higher load, or a longer one at a load whose result is
    /// unclear.
    fn out(&self) -> Result<NextLevel, SweepEnding> {
        let Some(top) = self.levels.last() else {
            return Ok(self.first_trial(Over::Concurrency, 1.0));
        };
        let highest = self.plan.highest.unwrap_or(f64::INFINITY);
        // A higher load shows more than a longer trial, as long as throughput clearly grows.
        let (_, below) = self.levels.split_last().unwrap_or((top, &[]));
        let below = below.iter().rfind(|one| top.load / one.load > 1.4);
        let flat = below.filter(|below| top.by == Over::Concurrency && seems_flat(below, top));
        if let Some(unsettled) = flat.filter(|below| is_unsettled(below)) {
            return Ok(self.again(unsettled));
        }
        let is_last = self.plan.by == Over::Rate || top.load >= highest;
        let is_unclear = flat.is_some() || (!top.is_settled && is_last);
        if is_unclear && top.trials < MOST_UNCLEAR {
            return Ok(self.again(top));
        }
        if self.plan.by == Over::Rate && top.by == Over::Concurrency {
            let alone = top.requests_per_s.map_or(1.0, |found| found.value);
            return Ok(self.first_trial(Over::Rate, rounded(alone).min(highest)));
        }
        if top.load >= highest {
            return Err(SweepEnding::NotSaturated);
        }
        Ok(self.first_trial(self.plan.by, (top.load * self.stride(top)).min(highest)))
    }

    /// A load between the two levels around the knee. Once these levels are near enough, the next trial is a longer one
    /// at the level with the largest error.
    fn near_knee(&self, found: Saturated) -> Result<NextLevel, SweepEnding> {
        let Some(knee) = self.knee() else { return Err(SweepEnding::Found) };
        let levels = &self.levels[..=found.at];
        let above = levels.iter().position(|level| level.load >= knee.load).unwrap_or(found.at);
        let Some(below) = above.checked_sub(1) else { return Err(SweepEnding::Found) };
        let (lower, upper) = (levels[below].load, levels[above].load);
        if upper > BRACKET * lower && upper - lower > 1.0 {
            let edge = (upper / lower).powf(0.25);
            let load = knee.load.clamp(lower * edge, upper / edge).round();
            return Ok(self.first_trial(Over::Concurrency, load.clamp(lower + 1.0, upper - 1.0)));
        }
        let mut beside = [below, above, found.at].into_iter();
        if let Some(unsettled) = beside.find(|at| is_unsettled(&levels[*at])) {
            return Ok(self.again(&levels[unsettled]));
        }
        let low = knee.low.unwrap_or(1.0);
        if knee.high <= low * (1.0 + self.plan.precision) || knee.high - low <= 1.0 {
            return Err(SweepEnding::Found);
        }
        let error =
            |at: &usize| levels[*at].requests_per_s.map_or(f64::INFINITY, |one| one.relative());
        let least_known =
            [below, above, found.at].into_iter().max_by(|a, b| error(a).total_cmp(&error(b)));
        Ok(self.again(&levels[least_known.unwrap_or(found.at)]))
    }

    /// If the tried rate is far above capacity, the next trial has a rate just above capacity. Then a trial at the rate
    /// of the knee follows, and then further trials above capacity.
    ///
    /// Each further trial has as many requests as the last trial at this rate, or twice as many if that trial has not
    /// settled. Longer trials would not help: a server can keep one of several speeds for a whole trial. (If requests
    /// have equal lengths, those that started together also end together.)
    fn near_capacity(&self, found: Saturated) -> Result<NextLevel, SweepEnding> {
        let over = &self.levels[found.at];
        let Some(most) = over.requests_per_s else { return Ok(self.again(over)) };
        let nearer = rounded(ABOVE * most.value);
        if over.load > FAR_ABOVE * most.value && !self.has_tried(nearer) {
            return Ok(self.first_trial(Over::Rate, nearer));
        }
        let at_knee = rounded(self.plan.knee * most.value);
        let is_near = |level: &Level| (level.load / at_knee - 1.0).abs() <= AT_KNEE;
        match self.levels.iter().filter(|level| level.by == Over::Rate).find(|level| is_near(level))
        {
            None => return Ok(self.first_trial(Over::Rate, at_knee)),
            Some(level) if is_unsettled(level) => {
                return Ok(self.again(level));
            }
            Some(_) => {}
        }
        let [low, high] = most.interval(self.plan.confidence);
        let is_precise = low > 0.0 && high <= low * (1.0 + self.plan.precision);
        if is_precise && over.settled_trials >= FEWEST_TRIALS {
            return Err(SweepEnding::Found);
        }
        let longer = if over.is_last_settled { 1 } else { 2 };
        Ok(NextLevel { by: over.by, load: over.load, requests: longer * over.last_requests })
    }

    fn has_tried(&self, rate: f64) -> bool {
        self.levels.iter().any(|level| level.by == Over::Rate && level.load == rate)
    }
}

/// Whether a level has no steady state yet, and a longer trial may show one.
fn is_unsettled(level: &Level) -> bool {
    !level.is_settled && level.trials < MOST_UNCLEAR
}

/// Rounds a rate to three significant digits.
fn rounded(rate: f64) -> f64 {
    // The rate is parsed from decimal text, because a product would have a rounding error.
    format!("{rate:.2e}").parse().unwrap_or(rate)
}
