//! Open loop: requests are due when the arrival process says so, whatever the server does.

use super::{Due, LoadModel};
use crate::plan::Bound;
use crate::time::Nanos;

/// Requests due at the instants of an arrival process.
pub struct Open<A: Iterator<Item = Nanos>> {
    arrivals: A,
    next: Option<Nanos>,
    bound: Bound,
    taken: u32,
}

impl<A: Iterator<Item = Nanos>> Open<A> {
    /// Arrivals until the bound. They must not go back in time.
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

    fn ended(&mut self, _at: Nanos) {}
}
