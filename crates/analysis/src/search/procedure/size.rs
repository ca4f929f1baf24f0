//! How many requests a trial has: enough to count, enough to claim, and never most of what is left
//! for one load. Decides no claim and no load.

use super::{AFFORDABLE, Search};
use crate::search::edge::{Curve, MissCount, fit_curve};
use crate::search::evidence::Measured;
use crate::search::known::{FEWEST, Load};
use crate::search::overwhelmed::crowd_of;
use inferometer_plan::search::Criterion;

/// Trials at a load of which all requests were start-up: then it never ends.
const BLANK_TRIALS: u32 = 3;
/// Latencies that a trial needs beside the requests that count: start-up and drain.
const LATENCIES_ASIDE: f64 = 3.0;
/// So many times the requests that are expected to be enough.
const SURPLUS: f64 = 1.3;

impl Search {
    /// Requests of the trial that makes sure that a load is hopeless, where one is what it wants.
    pub(super) fn to_make_sure(&self, load: f64) -> Option<u64> {
        self.loads.iter().find(|known| known.load == load)?.to_make_sure()
    }

    /// Requests at the beginning of a trial that cannot be counted as misses.
    pub(super) fn crowd(&self, load: f64) -> u64 {
        if self.settings.whole { crowd_of(load) } else { 0 }
    }

    /// The highest load up to another of which so many requests make a trial that counts.
    pub(super) fn highest_that_counts(&self, most: f64, left: u64) -> Option<f64> {
        let is_one = |known: &&Load| {
            known.load <= most && !known.is_beyond() && self.aside(known.load) + FEWEST <= left
        };
        self.loads.iter().rfind(is_one).map(|known| known.load)
    }

    /// Requests that a trial needs beside those that count: its start-up and its drain.
    pub(super) fn aside(&self, load: f64) -> u64 {
        let aside = match self.settings.whole {
            // Each of those in flight takes part once in each latency.
            true => LATENCIES_ASIDE * load,
            false => LATENCIES_ASIDE * load * self.latency_near(load).unwrap_or(0.0),
        };
        aside.ceil() as u64
    }

    /// Whether a load of which nothing counts yet is likely to be far beyond the edge.
    pub(super) fn looks_beyond(&self, load: f64) -> bool {
        self.loads.iter().any(|known| known.load == load && known.is_blank() && known.looks_beyond)
    }

    /// Whether a load of which too few requests count is tried again at once: not for ever, and not
    /// at the price of most requests that are left. What lies below it may show that there is no need.
    pub(super) fn is_tried_again(&self, load: &Load) -> bool {
        let left = self.settings.max_requests.saturating_sub(self.requests);
        load.is_blank()
            && load.trials < BLANK_TRIALS
            && (load.looks_beyond || self.few() + self.aside(load.load) <= left / AFFORDABLE)
    }

    /// The latency at the nearest load that was tried and has a steady state.
    pub(super) fn latency_near(&self, load: f64) -> Option<f64> {
        let distance = |known: &Load| (known.load / load).ln().abs();
        let steady = self.loads.iter().filter(|known| !known.is_beyond());
        let nearest = steady.min_by(|a, b| distance(a).total_cmp(&distance(b)));
        nearest.map(|known| known.latency_s).or(self.settings.latency_s)
    }

    /// A trial of the same size as all before it at this load, so that what is known doubles.
    pub(super) fn more_at(&self, load: &Load) -> (f64, u64) {
        (load.load, load.counted().max(self.few()))
    }

    /// Requests for each trial that is left: with smaller ones trials would be spent first.
    pub(super) fn share(&self) -> u64 {
        let left = self.settings.max_requests.saturating_sub(self.requests);
        left / u64::from(self.settings.max_trials.saturating_sub(self.trials).max(1))
    }

    pub(super) fn counted_at(&self, load: f64) -> u64 {
        self.loads.iter().find(|known| known.load == load).map_or(0, Load::counted)
    }

    /// Requests that a claim of a load is likely to want beside those that it has.
    pub(super) fn missing(&self, load: f64, guess: f64) -> u64 {
        let enough = (self.enough(load, guess) * SURPLUS) as u64;
        self.to_make_sure(load).unwrap_or(enough.saturating_sub(self.counted_at(load)))
    }

    /// Requests of a trial that is to tell little: as many as a percentile needs to have one beyond
    /// it.
    pub(super) fn few(&self) -> u64 {
        let tail = |criterion: &Criterion| criterion.needed().map(|needed| 1.0 - needed);
        let rarest = self.settings.criteria.iter().filter_map(tail).fold(1.0, f64::min);
        (1.0 / rarest.max(1e-3)).round().clamp(50.0, 1_000.0) as u64
    }

    /// The share of misses over the load for each criterion that is a share.
    pub(super) fn curves(&self, around: f64) -> Vec<Option<Curve>> {
        let known: Vec<&Load> = self
            .loads
            .iter()
            .filter(|load| load.counted() >= FEWEST && !load.is_beyond())
            .collect();
        let of = |(index, criterion): (usize, &Criterion)| {
            let counts = known.iter().map(|load| {
                let Measured { value, independent, .. } = load.evidence.measured[index];
                MissCount {
                    load: load.load,
                    requests: independent,
                    misses: independent * (1.0 - value),
                }
            });
            let allowed = 1.0 - criterion.needed()?;
            Some(fit_curve(&counts.collect::<Vec<_>>(), allowed, around))
        };
        self.settings.criteria.iter().enumerate().map(of).collect()
    }

    /// Requests that are likely to be enough for a claim of a load, by the curves: z² p (1 - p) /
    /// (p - q)² independent ones, where p is expected and q is needed.
    pub(super) fn enough(&self, load: f64, guess: f64) -> f64 {
        let square = self.claim_z().powi(2);
        let distance = |known: &&Load| (known.load / load).ln().abs();
        let worth = |index: usize| {
            let known = self.loads.iter().filter(|known| known.counted() >= FEWEST);
            let nearest = known.min_by(|a, b| distance(a).total_cmp(&distance(b)));
            nearest.map_or(1.0, |known| {
                let measured = &known.evidence.measured[index];
                measured.counted as f64 / measured.independent.max(1.0)
            })
        };
        let criteria = self.settings.criteria.iter().zip(self.curves(guess)).enumerate();
        let needs = criteria.filter_map(|(index, (criterion, curve))| {
            let (needed, curve) = (criterion.needed()?, curve?);
            let expected = 1.0 - curve.miss_share(load);
            let apart = (expected - needed).powi(2);
            let least = if expected > needed { needed / (1.0 - needed) } else { 1.0 };
            Some(worth(index) * square * (expected * (1.0 - expected) / apart).max(least))
        });
        let is_below = load < guess;
        // Below the edge all must be claimed, above it one is enough.
        needs.fold(0.0, |so_far: f64, need| match is_below {
            false if so_far > 0.0 => so_far.min(need),
            _ => so_far.max(need),
        })
    }
}
