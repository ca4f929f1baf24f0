//! The rates at which requests arrived and were served in a trial at a rate. This module does not use the objectives.

use std::time::Duration;

use crate::stay::{HasStay, served};

/// The rates at which requests arrived and were served in the window of a trial. The window begins one latency after
/// the first arrival, because fewer requests are in flight before. It ends with the last arrival, because no prompts
/// arrive afterwards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// The number of requests that were due in the window and completed then or later, per second.
    pub arrived_per_s: f64,
    /// Requests served per second ([`served`]).
    pub served_per_s: f64,
    /// Half the width of the 95 % interval of `served_per_s`.
    pub error: f64,
}

/// The number of parts of the window. The error is computed from their differences.
const PARTS: usize = 8;
/// The quantile of Student's t for a 95 % interval from `PARTS` values.
const STUDENT: f64 = 2.365;
/// The smallest number of completed requests that are due in the window.
const FEWEST: usize = 64;
/// A smaller computed relative error of `served_per_s` is raised to this value, because no server is assumed to be
/// more regular over a long time.
const LEAST_ERROR: f64 = 0.01;

/// `served_per_s` shows the capacity of the server only if its relative error is at most this. While a server is not
/// saturated, the error is usually larger, because requests are served as irregularly as they arrive.
const PRECISE: f64 = 0.05;
/// A server is saturated if requests arrived faster than they were served, by more than this many times `error`.
const TWICE: f64 = 2.0;

impl Rates {
    /// The rates of a trial. `requests` must be in the order of their due times. `None` if the window is shorter than
    /// `latency_s`, or if too few of the requests that are due in it completed.
    pub(super) fn of(requests: &[impl HasStay], latency_s: f64) -> Option<Self> {
        let begin = requests.first()?.stay().due;
        let from = begin + Duration::from_secs_f64(latency_s);
        let window_s = requests.last()?.stay().due.seconds_after(from);
        let stays = || requests.iter().map(HasStay::stay);
        // Requests that failed are no sign of a queue.
        let arrived = stays().filter(|stay| stay.due >= from && stay.complete).count();
        if window_s < latency_s || window_s <= 0.0 || arrived < FEWEST {
            return None;
        }
        let part_s = window_s / PARTS as f64;
        let parts = served::<PARTS>(stays().map(|stay| (stay, 1.0)), from, part_s);
        let parts = parts.map(|served| served / part_s);
        let served_per_s = parts.iter().sum::<f64>() / PARTS as f64;
        let squares = parts.iter().map(|part| (part - served_per_s).powi(2)).sum::<f64>();
        let error = STUDENT * (squares / (PARTS * (PARTS - 1)) as f64).sqrt();
        Some(Self {
            arrived_per_s: arrived as f64 / window_s,
            served_per_s,
            error: error.max(LEAST_ERROR * served_per_s),
        })
    }

    pub(super) fn is_precise(&self) -> bool {
        self.error <= PRECISE * self.served_per_s
    }

    /// Whether requests arrived faster than they were served, by more than twice `error`.
    pub(super) fn is_saturated(&self) -> bool {
        self.arrived_per_s > self.served_per_s + TWICE * self.error
    }
}
