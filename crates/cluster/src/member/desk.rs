//! What the thread of the run and the courier of a member share.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use inferometer_model::time::Nanos;

use super::LOOK_EVERY;
use crate::message::{Order, PassReport, Progress, Sent};

/// Gives the next record of the pass: `Ok(None)` where there is none now, an error after the last one.
pub type Outgoing = Box<dyn FnMut() -> Result<Option<Sent>, Over> + Send>;

/// There will be no more records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Over;

#[derive(Default)]
pub struct State {
    /// The number of the order that the member has.
    pub order: u64,
    pub what: Option<Order>,
    /// Whether the thread of the run has taken it.
    taken: bool,
    /// Whether it is done.
    pub done: Option<Option<Box<PassReport>>>,
    /// Whether rank 0 knows that it is done.
    pub told: bool,
    pub prepared: Option<String>,
    /// When the pass starts, by this clock.
    pub start: Option<Nanos>,
    pub records: Option<Outgoing>,
    /// Whether the plan says when requests of the pass are due.
    pub is_scheduled: bool,
    /// The pass is complete; its records are not sent yet.
    pub played: Option<PassReport>,
    pub alarm: Option<Box<dyn FnOnce() + Send>>,
    pub stopped: bool,
    /// Why this rank cannot go on.
    pub failed: Option<String>,
    /// Why there is no rank 0 any more.
    pub lost: Option<String>,
    /// The courier has left.
    pub left: bool,
}

impl State {
    /// How far this rank is. `round_trip_ns`: the longest round trip since the order.
    pub fn progress(&self, round_trip_ns: u64) -> Progress {
        match (&self.done, &self.prepared) {
            (Some(report), _) => Progress::Done(report.clone()),
            (None, Some(hash)) => Progress::Prepared { workload_hash: hash.clone(), round_trip_ns },
            (None, None) if self.taken => Progress::Busy,
            (None, None) => Progress::Waiting,
        }
    }

    pub fn take_order(&mut self, number: u64, order: Order) {
        (self.order, self.what, self.taken) = (number, Some(order), false);
        (self.done, self.told, self.prepared, self.start) = (None, false, None, None);
        (self.records, self.played) = (None, None);
    }

    /// Whether rank 0 is to hear something at once.
    pub fn has_news(&self) -> bool {
        self.done.is_some() && !self.told || self.played.is_some()
    }

    /// The order that the thread of the run has not taken, if there is one. What it took before is done.
    fn next_order(&mut self) -> Option<Order> {
        if self.taken {
            self.done.get_or_insert(None);
            return None;
        }
        let order = self.what.clone()?;
        self.taken = true;
        if matches!(order, Order::End { .. }) {
            self.done = Some(None);
        }
        Some(order)
    }

    pub fn stop(&mut self) {
        self.stopped = true;
        if let Some(alarm) = self.alarm.take() {
            alarm();
        }
    }
}

#[derive(Default)]
pub struct Desk {
    state: Mutex<State>,
    changed: Condvar,
}

impl Desk {
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn wait<'a>(&self, state: MutexGuard<'a, State>, most: Duration) -> MutexGuard<'a, State> {
        self.changed.wait_timeout(state, most).unwrap_or_else(PoisonError::into_inner).0
    }

    pub fn changed(&self) {
        self.changed.notify_all();
    }

    /// Lets a time pass.
    pub fn pause(&self, span: Duration) {
        drop(self.wait(self.lock(), span));
    }

    /// The next order, if it is there; the one before is done.
    #[cfg(test)]
    pub fn take_order(&self) -> Option<Order> {
        self.lock().next_order()
    }

    pub fn next_order(&self) -> Result<Order, String> {
        let mut state = self.lock();
        loop {
            if let Some(why) = &state.lost {
                return Err(why.clone());
            }
            let was_done = state.done.is_some();
            let order = state.next_order();
            // Who is woken for nothing asks rank 0 for nothing.
            if order.is_some() || state.done.is_some() != was_done {
                self.changed();
            }
            if let Some(order) = order {
                // Rank 0 waits for this word.
                while matches!(order, Order::End { .. }) && !state.left {
                    state = self.wait(state, LOOK_EVERY);
                }
                return Ok(order);
            }
            state = self.wait(state, LOOK_EVERY);
        }
    }

    pub fn when_stopped(&self, alarm: Box<dyn FnOnce() + Send>) {
        let mut state = self.lock();
        match state.stopped || state.lost.is_some() {
            true => alarm(),
            false => state.alarm = Some(alarm),
        }
    }

    pub fn begin_pass(&self, records: Outgoing, is_scheduled: bool) {
        let mut state = self.lock();
        (state.records, state.is_scheduled) = (Some(records), is_scheduled);
        drop(state);
        self.changed();
    }

    pub fn start(&self, workload_hash: &str) -> Option<Nanos> {
        let mut state = self.lock();
        if state.prepared.is_none() {
            state.prepared = Some(workload_hash.to_owned());
            self.changed();
        }
        state.start
    }

    pub fn end_pass(&self, report: PassReport) -> Result<(), String> {
        let mut state = self.lock();
        let order = state.order;
        state.played = Some(report);
        self.changed();
        loop {
            match &state.lost {
                Some(why) => return Err(why.clone()),
                // The answer may have brought the next order.
                None if state.told || state.order != order => return Ok(()),
                None => state = self.wait(state, LOOK_EVERY),
            }
        }
    }

    pub fn fail(&self, why: String) {
        let mut state = self.lock();
        state.failed = Some(why);
        self.changed();
        while !state.left {
            state = self.wait(state, LOOK_EVERY);
        }
    }
}
