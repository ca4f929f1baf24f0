//! Closed loop: as many requests in flight as the level says. When a request ends, the next one is due at
//! that instant.

use std::collections::VecDeque;
use std::fmt;

use crate::bound::Bound;
use crate::kind::PassKind;
use crate::level::{Level, bounded_s};
use crate::model::{Due, EndedRequest, LoadModel, LoadPlan};
use inferometer_model::time::Nanos;

/// The plan of a closed loop whose concurrency may change.
pub(super) struct ClosedPlan<'a> {
    pub concurrency: &'a Level,
    pub bound: Bound,
}

impl LoadPlan for ClosedPlan<'_> {
    fn kind(&self) -> PassKind {
        PassKind::Closed
    }

    fn requests(&self) -> Option<u32> {
        self.bound.requests
    }

    fn concurrency(&self) -> Option<u32> {
        self.concurrency.constant().map(|level| level.round() as u32)
    }

    fn at_start(&self) -> Option<u32> {
        // The highest number, so that a ramp opens no connections while it is measured.
        let most = self.concurrency.peak().round() as u32;
        Some(most.min(self.bound.requests.unwrap_or(u32::MAX)))
    }

    fn last_due_s(&self, each_s: f64) -> f64 {
        bounded_s(self.concurrency, self.bound, each_s)
    }

    fn start(&self, _seed: u64) -> Box<dyn LoadModel> {
        Box::new(Closed::new(self.concurrency, self.bound))
    }
}

impl fmt::Display for ClosedPlan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "closed loop, {} in flight", self.concurrency)
    }
}

/// The plan of one request after the other: the pass "one by one" of the tables.
pub(super) struct OneByOnePlan {
    pub bound: Bound,
}

impl LoadPlan for OneByOnePlan {
    fn kind(&self) -> PassKind {
        PassKind::OneByOne
    }

    fn requests(&self) -> Option<u32> {
        self.bound.requests
    }

    fn at_start(&self) -> Option<u32> {
        Some(1)
    }

    fn last_due_s(&self, each_s: f64) -> f64 {
        bounded_s(&Level::Constant(1.0), self.bound, each_s)
    }

    fn start(&self, _seed: u64) -> Box<dyn LoadModel> {
        Box::new(Closed::new(&Level::Constant(1.0), self.bound))
    }
}

impl fmt::Display for OneByOnePlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one by one")
    }
}

/// As many requests in flight as a level says.
#[derive(Debug)]
pub struct Closed {
    /// The future steps, in the order of time: an instant, and the concurrency from then on.
    steps: VecDeque<(Nanos, u32)>,
    concurrency: u32,
    /// By free place: since when it has been free, in the order of time.
    free: VecDeque<Nanos>,
    in_flight: u32,
    bound: Bound,
    taken: u32,
}

impl Closed {
    /// Keeps as many requests in flight as `concurrency` says, until the bound.
    pub fn new(concurrency: &Level, bound: Bound) -> Self {
        Self::of_steps(concurrency.whole_steps(), bound)
    }

    /// The same for a concurrency that is given by its steps: instants, and the number in flight from then
    /// on.
    pub(crate) fn of_steps(steps: Vec<(Nanos, u32)>, bound: Bound) -> Self {
        let mut closed = Self {
            steps: steps.into(),
            concurrency: 0,
            free: VecDeque::new(),
            in_flight: 0,
            bound,
            taken: 0,
        };
        closed.advance(Nanos::ZERO);
        closed
    }

    /// Applies the steps up to an instant. When the concurrency falls, requests in flight continue to their
    /// end, but are not replaced.
    fn advance(&mut self, until: Nanos) {
        while let Some((at, concurrency)) = self.steps.pop_front_if(|step| step.0 <= until) {
            self.concurrency = concurrency;
            while self.occupied() < concurrency {
                self.free.push_back(at);
            }
            while self.occupied() > concurrency && self.free.pop_back().is_some() {}
        }
    }

    fn occupied(&self) -> u32 {
        self.in_flight + self.free.len() as u32
    }

    /// The next instant at which the concurrency rises above what is in flight.
    fn next_rise(&self) -> Option<Nanos> {
        self.steps.iter().find(|step| step.1 > self.in_flight).map(|step| step.0)
    }
}

impl LoadModel for Closed {
    fn next_due(&self) -> Due {
        if self.bound.requests.is_some_and(|limit| self.taken >= limit) {
            return Due::Never;
        }
        let in_time = |at: Nanos| self.bound.duration.is_none_or(|limit| at < Nanos::ZERO + limit);
        match self.free.front().copied().or_else(|| self.next_rise()) {
            Some(at) if in_time(at) => Due::At(at),
            // Later places are not free earlier, so nothing after this one is in time either. If the next
            // rise is too late, a request in flight may still end before the limit.
            Some(_) if !self.free.is_empty() || self.in_flight == 0 => Due::Never,
            _ if self.in_flight > 0 => Due::AfterEnd,
            _ => Due::Never,
        }
    }

    fn take(&mut self) {
        if self.free.is_empty() {
            self.advance(self.next_rise().unwrap_or(Nanos::ZERO));
        }
        self.free.pop_front();
        self.taken += 1;
        self.in_flight += 1;
    }

    fn ended(&mut self, at: Nanos, _ended: EndedRequest) {
        self.advance(at);
        self.in_flight -= 1;
        if self.occupied() < self.concurrency {
            self.free.push_back(at);
        }
    }
}
