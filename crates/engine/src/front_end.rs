//! The front end: the delay from the arrival of a request to the scheduler. This file schedules nothing and reads no
//! clock.

use std::{collections::VecDeque, time::Duration};

use inferometer_model::Nanos;

use crate::{Engine, EngineRequest, RequestId};

/// Handles requests one after the other and passes each request to the scheduler after a delay. If the profile has no
/// constants for the front end, the delay is zero.
pub(crate) struct FrontEnd {
    service: Duration,
    delay: Duration,
    /// The additional delay for each other request in flight.
    delay_of_each: Duration,
    /// When the front end can handle the next request.
    free: Nanos,
    waiting: VecDeque<(Nanos, RequestId, EngineRequest)>,
}

impl FrontEnd {
    /// The front end of an engine that runs at `speed` times its normal speed.
    pub fn of(engine: &Engine, speed: f64) -> Self {
        let us = |time: f64| Duration::from_nanos((time * 1e3 / speed).round() as u64);
        let steps = engine.config().profile.steps.as_ref();
        Self {
            service: steps.map_or(Duration::ZERO, |steps| us(steps.front_service_us)),
            delay: steps.map_or(Duration::ZERO, |steps| us(steps.front_us)),
            delay_of_each: steps.map_or(Duration::ZERO, |steps| us(steps.front_sequence_us)),
            free: Nanos::ZERO,
            waiting: VecDeque::new(),
        }
    }

    /// Adds a request that arrives at the instant `at`, when `in_flight` other requests are in flight. Requests keep
    /// their order.
    pub fn take(&mut self, at: Nanos, id: RequestId, request: EngineRequest, in_flight: u32) {
        let begun = at.max(self.free);
        self.free = begun + self.service;
        let ready = begun + self.delay + self.delay_of_each * in_flight;
        let before = self.waiting.back().map_or(Nanos::ZERO, |last| last.0);
        self.waiting.push_back((ready.max(before), id, request));
    }

    /// When the next request reaches the scheduler.
    pub fn next(&self) -> Option<Nanos> {
        self.waiting.front().map(|first| first.0)
    }

    /// Passes the requests whose delay is over at `now` to the scheduler.
    pub fn hand_over(&mut self, engine: &mut Engine, now: Nanos) {
        while let Some((_, id, request)) = self.waiting.pop_front_if(|first| first.0 <= now) {
            engine.add(id, request);
        }
    }

    /// Whether the front end delays requests.
    pub fn takes_time(&self) -> bool {
        ![self.service, self.delay, self.delay_of_each].iter().all(Duration::is_zero)
    }

    /// Removes an aborted request, if it has not reached the scheduler yet.
    pub fn abort(&mut self, id: RequestId) {
        self.waiting.retain(|waiting| waiting.1 != id);
    }
}
