//! Chooses the load and the number of requests of the next trial, and decides when the search ends.

mod lengths;
mod nested_tiers;
mod single_loads;

use super::alone::{shows_no_load_meets, shows_none_is_served};
use super::edges::{TierEdge, capacity, edge, overwhelmed};
use super::known::Load;
use super::outcome::{NextTrial, SearchEnding};
use super::overwhelmed::Overwhelmed;
use super::trial::Trial;
use inferometer_plan::search::SearchPlan;

/// The number of requests of a trial far from the edge. Its only purpose is to show on which side of the edge the load
/// lies.
const PROBE: u64 = 40;
/// Long trials begin when the logarithms of `good` and `bad` of the edge differ by at most this number. For whole
/// loads, they also begin when `good` and `bad` differ by at most 1.
const BRACKET: f64 = 0.3;
/// The smallest and the largest distance of a long trial from the estimate, as a logarithm of the load.
const APART: (f64, f64) = (0.01, 0.1);
/// The distance that is used if the interval has no lower end or no upper end. Without a lower end, this distance is
/// multiplied by 1 to 5.
const FAR_APART: f64 = 0.2;
/// A longer trial may have a lower load than the trial that was too short. If so, its load is at least this many times
/// the highest load that met the objectives.
const ABOVE: f64 = 1.25;
/// If the rate of completions is below this share of the rate of arrivals, the load exceeds the capacity.
const LEAVES: f64 = 0.75;
/// A narrow interval ends the search only after this many long trials.
const FEWEST_LONG: u32 = 3;
/// With fewer requests in flight than this, on average, a server is nearly idle, and lower loads are no better.
const IDLE: f64 = 0.1;
/// The smallest share of requests that must complete for a server to count as nearly idle.
const SERVED: f64 = 0.98;

/// A search in progress: it requests trials and gets their results.
#[derive(Clone, Debug)]
pub struct Search {
    plan: SearchPlan,
    /// The criteria of each tier, by their indices.
    criteria: Vec<Vec<usize>>,
    trials: Vec<(Trial, Option<Overwhelmed>)>,
    tiers: Vec<TierEdge>,
    /// The number of long trials near the edge so far.
    long: u32,
    /// Whether the time limit has ended the search.
    is_out_of_time: bool,
    /// The used part of the time limit, in seconds, from the last call of `set_time`; 0 before the first call.
    taken_s: f64,
}

impl Search {
    /// Starts a search without trials.
    pub fn new(plan: SearchPlan) -> Self {
        let criteria = plan.criteria_of_tiers();
        let tiers = criteria.iter().map(|tier| edge(&plan, tier, &[])).collect();
        let trials = Vec::new();
        Self { plan, criteria, tiers, trials, long: 0, is_out_of_time: false, taken_s: 0.0 }
    }

    /// The plan of the search.
    pub fn plan(&self) -> &SearchPlan {
        &self.plan
    }

    /// The number of requests of all trials so far.
    pub fn requests(&self) -> u64 {
        self.trials.iter().map(|(trial, _)| trial.requests).sum()
    }

    /// The number of trials so far.
    pub fn trials(&self) -> u32 {
        self.trials.len() as u32
    }

    /// The last trial, and the evidence that its load is far beyond the edge, if there is any.
    pub fn last(&self) -> Option<(&Trial, Option<Overwhelmed>)> {
        self.trials.last().map(|(trial, by)| (trial, *by))
    }

    /// The duration of all trials together, in seconds.
    pub fn time_s(&self) -> f64 {
        self.trials.iter().map(|(trial, _)| trial.span_s).sum()
    }

    /// The edge of each tier, from the trials so far.
    pub fn tiers(&self) -> &[TierEdge] {
        &self.tiers
    }

    /// The results at each tried load, in ascending order.
    pub fn loads(&self) -> Vec<Load> {
        let mut loads: Vec<f64> = self.trials.iter().map(|(trial, _)| trial.load).collect();
        loads.sort_unstable_by(f64::total_cmp);
        loads.dedup();
        let capacity = capacity(&self.plan, &self.trials).map_or(f64::INFINITY, |it| it.high());
        let of = |load: f64| {
            let trials = self.trials.iter().map(|(trial, _)| trial);
            let trials: Vec<&Trial> = trials.filter(|trial| trial.load == load).collect();
            Load::of(&self.plan.criteria, &trials, capacity, |trial| overwhelmed(&self.plan, trial))
        };
        loads.into_iter().map(of).collect()
    }

    /// Adds a trial. A trial is ignored if it was cut off before its load was certainly far beyond the edge of every
    /// tier.
    pub fn tell(&mut self, trial: Trial) {
        let overwhelmed = overwhelmed(&self.plan, &trial).map(|tiers| tiers[0]);
        if trial.cut_off > 0 && overwhelmed.is_none() {
            return;
        }
        self.long += u32::from(self.is_near());
        self.trials.push((trial, overwhelmed));
        let tiers = self.criteria.iter();
        self.tiers = tiers.map(|tier| edge(&self.plan, tier, &self.trials)).collect();
        self.bound_by_single_loads();
        self.order_nested_tiers();
    }

    /// The interval of a tier in the form of the answer. For whole loads, both ends are rounded down, so that the
    /// interval contains the highest whole load that meets the objectives.
    pub fn interval(&self, tier: usize) -> (Option<f64>, Option<f64>) {
        let edge = &self.tiers[tier];
        let highest = self.plan.highest.unwrap_or(f64::INFINITY);
        let high = edge.high.filter(|&high| high < highest || edge.bad.is_some());
        // Loads above the highest one were not tried.
        let low = edge.low.map(|low| low.min(highest));
        match self.plan.is_whole() {
            false => (low, high),
            true => (low.map(f64::floor).filter(|&low| low >= 1.0), high.map(f64::floor)),
        }
    }

    /// The best estimate of the highest load that meets the objectives of a tier. If no tried load misses them, the
    /// estimate is the highest tried load that meets them. `None` if no tried load meets them.
    pub fn estimate(&self, tier: usize) -> Option<f64> {
        let edge = &self.tiers[tier];
        let (low, high) = self.interval(tier);
        let estimate = edge.estimate.or(edge.good)?;
        let estimate = if self.plan.is_whole() { (estimate + 1e-6).floor() } else { estimate };
        let highest = self.plan.highest.unwrap_or(f64::INFINITY);
        let estimate = estimate.max(low.unwrap_or(0.0)).min(high.unwrap_or(f64::INFINITY));
        let estimate = estimate.clamp(self.plan.lowest.min(highest), highest);
        (estimate > 0.0).then_some(estimate)
    }

    /// How the search ended: `Unfinished` as long as one tier is unfinished, and then the ending of the first tier.
    pub fn outcome(&self) -> SearchEnding {
        self.outcome_of((0..self.tiers.len()).find(|&tier| self.is_open(tier)).unwrap_or(0))
    }

    fn is_open(&self, tier: usize) -> bool {
        self.outcome_of(tier) == SearchEnding::Unfinished
    }

    /// How the search of one tier ended, or that it has not ended.
    pub fn outcome_of(&self, tier: usize) -> SearchEnding {
        let plan = &self.plan;
        let (lowest, high) = (self.lowest(tier), self.tiers[tier].high);
        let shortest_s = self.last().map_or(0.0, |(last, _)| last.shortest_next_s(plan.is_whole()));
        let is_known = |low, high| self.long >= FEWEST_LONG && self.is_narrow(low, high);
        match self.interval(tier) {
            (Some(low), Some(high)) if is_known(low, high) => SearchEnding::Found,
            _ if high.is_some_and(|high| high <= lowest) || self.is_missed_alone(tier) => {
                SearchEnding::NotMetAtLowest
            }
            (Some(low), _) if plan.highest.is_some_and(|it| low >= it) => {
                SearchEnding::MetAtHighest
            }
            _ if self.lacks_gaps(tier) => SearchEnding::NotMeasurable,
            _ if self.requests() >= plan.max_requests => SearchEnding::RequestsSpent,
            _ if self.trials() >= plan.max_trials => SearchEnding::TrialsSpent,
            _ if self.time_left_s() <= shortest_s => SearchEnding::TimeSpent,
            _ => SearchEnding::Unfinished,
        }
    }

    /// Whether requests that were alone on the server show that no load meets the objectives of a tier.
    pub fn is_missed_alone(&self, tier: usize) -> bool {
        let of_trials = self.trials.iter().map(|(trial, _)| &trial.alone);
        // In a closed loop, no request is alone at a load above one.
        !self.plan.is_whole()
            && self.tiers[tier].good.is_none()
            && (self.is_none_served()
                || shows_no_load_meets(&self.plan.criteria, &self.criteria[tier], of_trials))
    }

    /// Whether no request of the search completed, not even one that was alone on the server.
    fn is_none_served(&self) -> bool {
        let completed = self.trials.iter().map(|(trial, _)| trial.completed).sum();
        shows_none_is_served(completed, self.trials.iter().map(|(trial, _)| &trial.alone))
    }

    /// Whether an objective of a tier cannot be judged because tokens came in bundles.
    fn lacks_gaps(&self, tier: usize) -> bool {
        let needs = |&index: &usize| self.plan.criteria[index].needs_gaps();
        self.criteria[tier].iter().any(needs)
            && self.trials.iter().any(|(trial, _)| trial.lacks_gaps)
    }

    fn is_narrow(&self, low: f64, high: f64) -> bool {
        high <= low * (1.0 + self.plan.precision) * (1.0 + 1e-9)
            || (self.plan.is_whole() && high <= low + 1.0)
    }

    /// Records that the time limit has ended the search.
    pub fn time_is_over(&mut self) {
        self.is_out_of_time = true;
    }

    /// Sets the used part of the time limit, in seconds. This part includes the time of the trials and other time, such
    /// as warm-up and pauses. If this function is never called, only the time of the trials counts.
    pub fn set_time(&mut self, taken_s: f64) {
        self.taken_s = taken_s;
    }

    /// The time that is left for trials, in seconds; infinite without a time limit.
    pub fn time_left_s(&self) -> f64 {
        if self.is_out_of_time {
            return 0.0;
        }
        let taken_s = self.taken_s.max(self.time_s());
        self.plan.max_time.map_or(f64::INFINITY, |most| most.as_secs_f64() - taken_s)
    }

    /// The expected duration of a trial, in seconds; 0 for a closed loop whose latency is unknown.
    pub fn seconds(&self, asked: NextTrial) -> f64 {
        let NextTrial { load, requests } = asked;
        let each_s = if self.plan.is_whole() { self.latency_near(load) / load } else { 1.0 / load };
        requests as f64 * each_s
    }

    /// The lowest load to try for a tier. If the server is nearly idle at a load that misses the objectives, lower
    /// loads are not better.
    fn lowest(&self, tier: usize) -> f64 {
        if self.tiers[tier].good.is_some() {
            return self.plan.lowest;
        }
        let idle = |(trial, _): &(Trial, Option<Overwhelmed>)| {
            // A server that refuses most requests has few in flight, but is not idle.
            let is_idle = trial.load * trial.latency_s < IDLE
                && (trial.is_settled || trial.cut_off > 0)
                && trial.completed as f64 >= SERVED * trial.ended() as f64;
            (!self.plan.is_whole() && is_idle).then_some(trial.load)
        };
        self.trials.iter().filter_map(idle).fold(self.plan.lowest, f64::max)
    }

    /// The unfinished tier with the widest interval: the next trial is for this tier.
    fn tier(&self) -> Option<usize> {
        let open = (0..self.tiers.len()).filter(|&tier| self.is_open(tier));
        open.max_by(|&a, &b| self.width(a).total_cmp(&self.width(b)))
    }

    fn width(&self, tier: usize) -> f64 {
        match (self.tiers[tier].low, self.tiers[tier].high) {
            (Some(low), Some(high)) => (high / low).ln(),
            _ => f64::INFINITY,
        }
    }

    /// Whether the next trial is a long one near the edge.
    fn is_near(&self) -> bool {
        let Some(tier) = self.tier() else { return false };
        match (self.tiers[tier].good, self.tiers[tier].bad) {
            (Some(good), Some(bad)) => {
                (bad / good).ln() <= BRACKET || (self.plan.is_whole() && bad - good <= 1.0)
            }
            _ => false,
        }
    }

    /// The next trial; `None` when the search has ended.
    pub fn next(&self) -> Option<NextTrial> {
        let tier = self.tier()?;
        let edge = &self.tiers[tier];
        if let Some((load, wanted)) = self.unsettled(edge) {
            return Some(NextTrial { load, requests: self.affordable(load, wanted, wanted) });
        }
        let (load, wanted) = match (edge.good, edge.bad) {
            (None, None) => (self.plan.start, PROBE),
            (Some(good), None) => self.up(good),
            (None, Some(bad)) => self.down(tier, bad),
            (Some(_), Some(_)) if self.is_near() => self.near(edge),
            (Some(good), Some(bad)) => self.between(edge, good, bad),
        };
        let least = self.side_trial(load);
        Some(NextTrial { load, requests: self.affordable(load, wanted, least) })
    }

    /// A longer trial, if the last one was too short for a steady state and its load is not known to miss the
    /// objectives of the tier; otherwise `None`. If far more requests arrived than completed, the new load is the rate
    /// of completions.
    fn unsettled(&self, edge: &TierEdge) -> Option<(f64, u64)> {
        let (last, overwhelmed) = self.last()?;
        if last.is_settled || overwhelmed.is_some() {
            return None;
        }
        // Only the result of this tier matters: it needs a longer trial even if another tier misses its objectives.
        if edge.bad.is_some_and(|bad| bad <= last.load) {
            return None;
        }
        let leaves = last.throughput();
        let load = if self.plan.is_whole() || leaves > LEAVES * last.load {
            last.load
        } else {
            let slower = leaves.max(edge.good.unwrap_or(0.0) * ABOVE).min(last.load);
            self.rounded(slower, f64::floor).max(self.plan.lowest)
        };
        let wanted = self.steady_trial(load, last.latency_s);
        // A trial of the same length at this load would be too short again.
        let is_again = load >= last.load;
        Some((load, if is_again { wanted.max(last.requests + last.requests / 2) } else { wanted }))
    }

    /// A higher load, by the stride. A stride below 2 grows to 2 over the first trials.
    fn up(&self, good: f64) -> (f64, u64) {
        match self.plan.highest {
            Some(highest) if good >= highest => (highest, self.long_trial(highest)),
            highest => {
                let doublings = self.trials().saturating_sub(1).min(10);
                let asked = self.plan.stride;
                let up = good * asked.powi(1 << doublings).min(asked.max(2.0));
                let up = self.rounded(up, f64::ceil);
                let up = highest.map_or(up, |highest| up.min(highest));
                // The trial has at least as many requests as start-up and drain have at the lower load. Fewer requests
                // would show little.
                (up, PROBE.max(self.aside(good)))
            }
        }
    }

    /// A lower load: the bad load divided by the stride, or the rate of completions if this rate is lower.
    fn down(&self, tier: usize, bad: f64) -> (f64, u64) {
        if bad <= self.lowest(tier) {
            return (bad, self.long_trial(bad));
        }
        let leaves = self.trials.iter().filter(|(trial, _)| trial.load == bad);
        let leaves = leaves.map(|(trial, _)| trial.throughput()).fold(f64::INFINITY, f64::min);
        let strided = bad / self.plan.stride.max(2.0);
        let down =
            if self.plan.is_whole() || leaves <= 0.0 { strided } else { strided.min(leaves) };
        (self.rounded(down, f64::floor).max(self.lowest(tier)), PROBE)
    }

    /// A load at the estimate, but within the inner half of the range from `good` to `bad` (in logarithms).
    fn between(&self, edge: &TierEdge, good: f64, bad: f64) -> (f64, u64) {
        let width = (bad / good).ln();
        let middle = (good * bad).sqrt();
        let within = [good * (0.25 * width).exp(), good * (0.75 * width).exp()];
        // If far more requests arrived than completed, the limit of the server is near the rate of completions.
        let leaves = self.trials.iter().filter(|(trial, _)| trial.load == bad);
        let leaves = leaves.map(|(trial, _)| trial.throughput()).fold(f64::INFINITY, f64::min);
        let load = edge.estimate.unwrap_or(middle).clamp(within[0], within[1]);
        let is_beyond = !self.plan.is_whole() && leaves < LEAVES * bad;
        let load = if is_beyond { load.min(leaves.max(good * (0.1 * width).exp())) } else { load };
        let load = self.rounded(load, f64::round);
        let load = if self.plan.is_whole() { load.clamp(good + 1.0, bad - 1.0) } else { load };
        (load, self.side_trial(load))
    }

    /// A long trial, alternately below and above the estimate. It is always below until the lower end is known, and
    /// then always above until the upper end is known.
    fn near(&self, edge: &TierEdge) -> (f64, u64) {
        let estimate = edge.estimate.unwrap_or(self.plan.start);
        let below = |apart: f64| self.rounded(estimate * (-apart).exp(), f64::floor);
        let above = |apart: f64| self.rounded(estimate * apart.exp(), f64::ceil);
        let load = match (edge.low, edge.high) {
            // Each trial has a lower load than the one before. A load far below the edge certainly meets the
            // objectives.
            (None, _) => below(FAR_APART * f64::from(1 + self.long.min(4))),
            (_, None) => above(FAR_APART),
            (Some(low), Some(high)) => {
                let apart = ((high / low).ln() / 4.0).clamp(APART.0, APART.1);
                if self.long.is_multiple_of(2) { below(apart) } else { above(apart) }
            }
        };
        let highest = self.plan.highest.unwrap_or(f64::INFINITY);
        let load = load.clamp(self.plan.lowest.min(highest), highest);
        (load, self.long_trial(load))
    }

    /// Rounds a load: to a whole number by `round`, or to four or five significant digits.
    fn rounded(&self, load: f64, round: fn(f64) -> f64) -> f64 {
        if self.plan.is_whole() {
            return round(load).max(1.0);
        }
        let digits = if self.plan.precision < 0.02 { 4 } else { 3 };
        // The load is parsed from decimal text, because a product would have a rounding error.
        format!("{load:.digits$e}").parse().unwrap_or(load)
    }
}
