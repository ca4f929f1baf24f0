//! The capacity of a server: the rate at which it serves requests if they arrive at a higher rate. The capacity is
//! computed from the trials of a search.
//!
//! No load above the capacity has a steady state. But in a trial with a load that is only slightly above the capacity,
//! the queue grows so slowly that hardly any request of the trial misses an objective. So the capacity bounds the edge,
//! whatever latencies were measured.

use super::rates::Rates;
use super::trial::Trial;

/// The capacity of a server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Capacity {
    /// The rate at which the saturated server serves requests, in requests per second.
    pub(super) per_s: f64,
    /// Half the width of its 95 % interval.
    error: f64,
}

impl Capacity {
    /// The capacity, from trials at a rate. `None` unless a trial was saturated whose rates are precise.
    pub(super) fn of<'a>(trials: impl Iterator<Item = &'a Trial> + Clone) -> Option<Self> {
        let rates = trials.clone().filter_map(|trial| trial.rates).filter(Rates::is_precise);
        if !rates.clone().any(|rate| rate.is_saturated()) {
            return None;
        }
        let most = rates.max_by(|a, b| a.served_per_s.total_cmp(&b.served_per_s))?;
        Some(Self { per_s: most.served_per_s, error: most.error })
    }

    /// The upper end of the interval of the capacity. No higher load has a steady state.
    pub(super) fn high(&self) -> f64 {
        self.per_s + self.error
    }
}

/// In a trial of n requests, a queue that grows by less than sqrt(`UNSEEN` / n) per request cannot be distinguished
/// from chance. With Poisson arrivals at 1 - e times the capacity, a queue needs about `UNSEEN` / e^2 requests to reach
/// its steady state (Odoni and Roth, "An empirical investigation of the transient behavior of stationary queueing
/// systems", 1983).
const UNSEEN: f64 = 4.0;

/// The highest load for which a settled trial that met the objectives shows a steady state, in requests per second.
pub(super) fn shown_by(trial: &Trial) -> f64 {
    trial.load * (1.0 - (UNSEEN / trial.requests.max(1) as f64).sqrt()).max(0.0)
}
