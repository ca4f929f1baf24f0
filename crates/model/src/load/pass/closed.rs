//! Closed loop: the number of requests in flight is the concurrency. When a request ends, the next
//! request is due at that instant.

use std::collections::VecDeque;

use derive_more::Display;
use serde::{Deserialize, Serialize};

use crate::load::level::{Level, Stages, bounded_s};
use crate::load::model::{Due, EndedRequest, KeptConstant, LoadModel, LoadPlan};
use crate::{Bound, Nanos, PassKind};

/// The description of a closed loop. Its concurrency may change over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Display)]
#[display("closed loop, {concurrency} in flight")]
pub struct ClosedPlan {
    /// The number of requests in flight.
    pub concurrency: Level,
    /// When the pass stops starting requests.
    pub bound: Bound,
}

impl LoadPlan for ClosedPlan {
    fn kind(&self) -> PassKind {
        PassKind::Closed
    }

    fn bound(&self) -> Bound {
        self.bound
    }

    fn concurrency(&self) -> Option<u32> {
        self.concurrency.constant().map(|level| level.round() as u32)
    }

    fn constant_load(&self) -> Option<f64> {
        self.concurrency.constant()
    }

    fn stages(&self) -> Stages {
        Stages::of(&self.concurrency)
    }

    fn most_in_flight(&self) -> Option<u32> {
        Some(self.concurrency.peak().round() as u32)
    }

    fn is_limited(&self) -> bool {
        self.concurrency.peak() > 1.0
    }

    fn may_end_before_its_count(&self) -> bool {
        self.bound.duration.is_some() || self.concurrency.duration().is_some()
    }

    fn keeps_constant(&self) -> KeptConstant {
        self.concurrency().map_or(
            KeptConstant::Nothing("the number in flight changes during the pass"),
            KeptConstant::InFlight,
        )
    }

    fn at_start(&self) -> Option<u32> {
        // The highest concurrency. That many connections are opened before the pass, so that a ramp
        // opens none during the measurement.
        let most = self.concurrency.peak().round() as u32;
        Some(most.min(self.bound.requests.unwrap_or(u32::MAX)))
    }

    fn last_due_s(&self, each_s: f64) -> f64 {
        bounded_s(&self.concurrency, self.bound, each_s)
    }

    fn start(&self, _seed: u64) -> Box<dyn LoadModel> {
        Box::new(Closed::new(&self.concurrency, self.bound))
    }
}

/// The description of the pass "one by one": a closed loop with one request in flight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Display)]
#[display("one by one")]
pub struct OneByOnePlan {
    /// When the pass stops starting requests.
    pub bound: Bound,
}

impl LoadPlan for OneByOnePlan {
    fn kind(&self) -> PassKind {
        PassKind::OneByOne
    }

    fn bound(&self) -> Bound {
        self.bound
    }

    fn most_in_flight(&self) -> Option<u32> {
        Some(1)
    }

    fn keeps_constant(&self) -> KeptConstant {
        KeptConstant::InFlight(1)
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

/// The load model during a closed loop. A place is the permission to have one request in flight.
#[derive(Debug)]
pub struct Closed {
    /// The future changes of the concurrency, in order of time: an instant, and the concurrency from that
    /// instant on.
    steps: VecDeque<(Nanos, u32)>,
    concurrency: u32,
    /// For each free place: the instant at which it became free, in order of time.
    free: VecDeque<Nanos>,
    in_flight: u32,
    bound: Bound,
    taken: u32,
}

impl Closed {
    /// Creates a model that keeps `concurrency` requests in flight, until the bound.
    pub fn new(concurrency: &Level, bound: Bound) -> Self {
        Self::of_steps(concurrency.whole_steps(), bound)
    }

    /// Creates the model from the steps of a concurrency: instants in order of time, each with the number
    /// of requests in flight from that instant on.
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
    /// end and are not replaced.
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

    /// The next instant at which the concurrency rises above the number of requests in flight.
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
            // The place became free after the time limit. Places are in order of time, so all other places
            // are too late as well. If no place is free and only the next rise is too late, a request in
            // flight may still end before the limit: the next arm handles this.
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
