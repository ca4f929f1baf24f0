//! Chooses the number of requests of a trial.

use super::{PROBE, Search};
use crate::search::trial::Trial;
use inferometer_plan::search::Criterion;

/// A trial that must show on which side of the edge its load lies has this many misses on average, if exactly the
/// allowed share of its requests misses.
const MISSES: f64 = 2.0;
/// Such a trial also has at least this many times the requests of its start-up and drain.
const TIMES_ASIDE: u64 = 2;
/// The duration of start-up and drain together, in latencies.
const LATENCIES_ASIDE: f64 = 4.0;
/// The first long trial has 1/`FIRST_LONG` of all requests, at most `MOST_AT_FIRST`. Each later one is larger by the
/// factor `GROWTH`, up to 1/`OF_LEFT` of the remaining requests.
const FIRST_LONG: u64 = 8;
const MOST_AT_FIRST: u64 = 2_500;
const GROWTH: f64 = 1.5;
const OF_LEFT: u64 = 3;

impl Search {
    /// The number of requests of a trial that must show on which side of the edge its load lies.
    pub(super) fn side_trial(&self, load: f64) -> u64 {
        let tail = |criterion: &Criterion| criterion.needed().map(|needed| 1.0 - needed);
        let rarest = self.plan.criteria.iter().filter_map(tail).fold(1.0, f64::min);
        let few = (MISSES / rarest).round().clamp(PROBE as f64, 1_000.0) as u64;
        few.max(TIMES_ASIDE * self.aside(load))
    }

    /// The number of requests of a trial that must reach a steady state, if a request takes `latency_s`.
    pub(super) fn steady_trial(&self, load: f64, latency_s: f64) -> u64 {
        let in_flight = if self.plan.is_whole() { load } else { load * latency_s };
        let aside = (LATENCIES_ASIDE * in_flight).ceil() as u64;
        (TIMES_ASIDE * aside).max(PROBE)
    }

    /// The number of requests of a trial that narrows the interval. This number grows from trial to trial.
    pub(super) fn long_trial(&self, load: f64) -> u64 {
        let wanted = self.first_long() as f64 * GROWTH.powi(self.long.min(20) as i32);
        (wanted as u64).max(self.side_trial(load))
    }

    fn first_long(&self) -> u64 {
        (self.plan.max_requests / FIRST_LONG).min(MOST_AT_FIRST)
    }

    /// Limits a trial to a part of the requests that are left by the limits on requests and time, but not to fewer than
    /// `least`. If too few would then be left for another trial, this trial gets all of them.
    pub(super) fn affordable(&self, load: f64, wanted: u64, least: u64) -> u64 {
        let of_time = match self.plan.is_whole() {
            _ if self.plan.max_time.is_none() => u64::MAX,
            true => (self.time_left_s() * load / self.latency_near(load).max(1e-6)) as u64,
            false => (self.time_left_s() * load) as u64,
        };
        let left = self.plan.max_requests.saturating_sub(self.requests()).min(of_time).max(1);
        let most = (left / OF_LEFT).max(least);
        let asked = wanted.min(most).min(left);
        // Several short trials at the end would show less than one long trial.
        if left - asked < self.side_trial(load).max(asked / 2) { left } else { asked }
    }

    /// About how many requests belong to start-up and drain, which do not count.
    pub(super) fn aside(&self, load: f64) -> u64 {
        let in_flight = if self.plan.is_whole() { load } else { load * self.latency_near(load) };
        (LATENCIES_ASIDE * in_flight).ceil() as u64
    }

    /// The median latency, in seconds, of the trial with a steady state whose load is nearest to `load`; 0 if there is
    /// no such trial.
    pub(super) fn latency_near(&self, load: f64) -> f64 {
        let distance = |trial: &Trial| (trial.load / load).ln().abs();
        let steady = self.trials.iter().filter(|(trial, overwhelmed)| {
            overwhelmed.is_none() && trial.saturation.is_none() && trial.is_settled
        });
        let steady = steady.map(|(trial, _)| trial);
        let nearest = steady.min_by(|a, b| distance(a).total_cmp(&distance(b)));
        nearest.map_or(0.0, |trial| trial.latency_s)
    }
}
