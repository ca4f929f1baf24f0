//! Open loop: requests are due at the times of an arrival process, which does not depend on the server.

use std::fmt;

use crate::arrival::{Arrivals, scaled};
use crate::bound::Bound;
use crate::kind::PassKind;
use crate::level::{Level, bounded_s};
use crate::model::{Due, EndedRequest, LoadModel, LoadPlan};
use inferometer_model::time::Nanos;

/// The description of an open loop. Its rate may change over time.
pub(super) struct OpenPlan<'a> {
    pub rate: &'a Level,
    pub arrivals: Arrivals,
    pub bound: Bound,
    pub scaled: bool,
}

impl LoadPlan for OpenPlan<'_> {
    fn kind(&self) -> PassKind {
        PassKind::Open
    }

    fn requests(&self) -> Option<u32> {
        self.bound.requests
    }

    fn rate(&self) -> Option<f64> {
        self.rate.constant()
    }

    fn peak_rate(&self) -> f64 {
        self.rate.peak()
    }

    fn is_scheduled(&self) -> bool {
        true
    }

    fn at_start(&self) -> Option<u32> {
        if self.rate.peak().is_infinite() { self.bound.requests } else { Some(0) }
    }

    fn last_due_s(&self, _each_s: f64) -> f64 {
        bounded_s(self.rate, self.bound, 1.0)
    }

    fn start(&self, seed: u64) -> Box<dyn LoadModel> {
        let rate = self.rate.clone();
        let due = move |area| rate.time_of_area_s(area).map(|second| Nanos((second * 1e9) as u64));
        // Arrivals are not scaled in three cases: equal gaps already match the rate, an infinite rate makes
        // all requests due at once, and a load without an end has no number of requests to match.
        let is_drawn = self.arrivals != Arrivals::Constant && self.rate.peak().is_finite();
        let ends = self.bound != Bound::none() || self.rate.duration().is_some();
        if self.scaled && is_drawn && ends {
            let areas = scaled(self.arrivals, self.rate, self.bound, seed);
            return Box::new(Open::new(areas.map_while(due), self.bound));
        }
        Box::new(Open::new(self.arrivals.seconds(seed).map_while(due), self.bound))
    }
}

impl fmt::Display for OpenPlan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "open loop, {} requests/s", self.rate)?;
        match self.arrivals {
            Arrivals::Poisson => Ok(()),
            other => write!(f, ", {other} arrivals"),
        }
    }
}

/// The load model during an open loop: requests are due at the instants of an arrival process.
pub struct Open<A: Iterator<Item = Nanos>> {
    arrivals: A,
    next: Option<Nanos>,
    bound: Bound,
    taken: u32,
}

impl<A: Iterator<Item = Nanos>> Open<A> {
    /// Creates the model. `arrivals` must be in order of time; arrivals after the bound are ignored.
    pub fn new(arrivals: A, bound: Bound) -> Self {
        let mut arrivals = arrivals;
        let next = arrivals.next();
        Self { arrivals, next, bound, taken: 0 }
    }
}

impl<A: Iterator<Item = Nanos> + Send> LoadModel for Open<A> {
    fn next_due(&self) -> Due {
        if self.bound.requests.is_some_and(|limit| self.taken >= limit) {
            return Due::Never;
        }
        match self.next {
            Some(at) if self.bound.duration.is_none_or(|limit| at < Nanos::ZERO + limit) => {
                Due::At(at)
            }
            _ => Due::Never,
        }
    }

    fn take(&mut self) {
        self.next = self.arrivals.next();
        self.taken += 1;
    }

    fn ended(&mut self, _at: Nanos, _ended: EndedRequest) {}
}
