//! Closed loop: a fixed number in flight; each end makes the next request due at that instant.

use std::collections::VecDeque;

use super::{Due, LoadModel};
use crate::plan::Bound;
use crate::time::Nanos;

/// A fixed number of requests in flight. One in flight is the "one by one" of the tables.
#[derive(Debug)]
pub struct Closed {
    due: VecDeque<Nanos>,
    bound: Bound,
    taken: u32,
    in_flight: u32,
}

impl Closed {
    /// Keeps `concurrency` requests in flight until the bound.
    #[must_use]
    pub fn new(concurrency: u32, bound: Bound) -> Self {
        let due = (0..concurrency).map(|_| Nanos::ZERO).collect();
        Self { due, bound, taken: 0, in_flight: 0 }
    }
}

impl LoadModel for Closed {
    fn next_due(&self) -> Due {
        if self.bound.requests.is_some_and(|limit| self.taken >= limit) {
            return Due::Never;
        }
        let in_time = |at: Nanos| self.bound.duration.is_none_or(|limit| at < Nanos::ZERO + limit);
        match self.due.front() {
            Some(&at) if in_time(at) => Due::At(at),
            // Later ends come no earlier, so nothing after this one is in time either.
            Some(_) => Due::Never,
            None if self.in_flight > 0 => Due::AfterEnd,
            None => Due::Never,
        }
    }

    fn take(&mut self) {
        self.due.pop_front();
        self.taken += 1;
        self.in_flight += 1;
    }

    fn ended(&mut self, at: Nanos) {
        self.in_flight -= 1;
        self.due.push_back(at);
    }
}
