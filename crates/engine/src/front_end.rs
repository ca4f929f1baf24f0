//! What stands between the arrival of a request and the scheduler. It schedules nothing and reads no clock.

use std::collections::VecDeque;
use std::time::Duration;

use inferometer_model::time::Nanos;

use crate::engine::Engine;
use crate::request::{EngineRequest, RequestId};

/// Takes requests one after the other, and each comes through a time later. Without constants of it no time
/// passes.
pub(crate) struct FrontEnd {
    service: Duration,
    delay: Duration,
    /// When it can take the next request.
    free: Nanos,
    waiting: VecDeque<(Nanos, RequestId, EngineRequest)>,
}

impl FrontEnd {
    /// That of an engine, at this multiple of its speed.
    pub fn of(engine: &Engine, speed: f64) -> Self {
        let us = |time: f64| Duration::from_nanos((time * 1e3 / speed).round() as u64);
        let steps = engine.config().profile.steps.as_ref();
        Self {
            service: steps.map_or(Duration::ZERO, |steps| us(steps.front_service_us)),
            delay: steps.map_or(Duration::ZERO, |steps| us(steps.front_us)),
            free: Nanos::ZERO,
            waiting: VecDeque::new(),
        }
    }

    /// A request arrives.
    pub fn take(&mut self, at: Nanos, id: RequestId, request: EngineRequest) {
        let begun = at.max(self.free);
        self.free = begun + self.service;
        self.waiting.push_back((begun + self.delay, id, request));
    }

    /// When the next request comes through.
    pub fn next(&self) -> Option<Nanos> {
        self.waiting.front().map(|first| first.0)
    }

    /// Hands what is through by `now` to the scheduler.
    pub fn hand_over(&mut self, engine: &mut Engine, now: Nanos) {
        while let Some((_, id, request)) = self.waiting.pop_front_if(|first| first.0 <= now) {
            engine.add(id, request);
        }
    }

    /// Whether a request spends time in it.
    pub fn takes_time(&self) -> bool {
        !(self.service.is_zero() && self.delay.is_zero())
    }

    /// A request is given up; nothing happens where it is through.
    pub fn abort(&mut self, id: RequestId) {
        self.waiting.retain(|waiting| waiting.1 != id);
    }
}
