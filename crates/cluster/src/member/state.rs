//! The state that is shared by a member's main thread and the thread that communicates with rank 0.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use inferometer_model::Nanos;

use super::LOOK_EVERY;
use crate::{Order, PassReport, SentRecord, message::Progress};

/// Returns the next record of the pass: `Ok(None)` if none is available yet, an error after the last record.
pub type Outgoing = Box<dyn FnMut() -> Result<Option<SentRecord>, NoMoreRecords> + Send>;

/// The pass has no more records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoMoreRecords;

/// Rank 0 cannot be reached any more, with what it did, such as `closed its connection`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rank 0 is lost: it {0}")]
pub struct Rank0Lost(pub String);

#[derive(Default)]
pub struct State {
    /// The number of the member's current order, from 1.
    pub order: u64,
    pub what: Option<Order>,
    /// Whether the main thread has taken the order.
    taken: bool,
    /// Set when the order is done. Contains the report if the order was a pass.
    pub done: Option<Option<Box<PassReport>>>,
    /// Whether rank 0 knows that the order is done.
    pub told: bool,
    /// Whether the main thread has made progress, or has failed, since the last message to rank 0.
    unreported: bool,
    pub prepared: Option<String>,
    /// The instant at which the pass starts, by this rank's clock; None if it is not known yet.
    pub start: Option<Nanos>,
    pub records: Option<Outgoing>,
    /// Whether the plan determines when requests of the pass are due.
    pub is_scheduled: bool,
    /// The report of a complete pass, until all records of the pass have been sent.
    pub played: Option<PassReport>,
    pub alarm: Option<Box<dyn FnOnce() + Send>>,
    pub stopped: bool,
    /// Why this rank cannot continue; None if it can.
    pub failed: Option<String>,
    /// Set if rank 0 is lost.
    pub lost: Option<Rank0Lost>,
    /// Whether the thread that communicates with rank 0 has ended.
    pub left: bool,
}

impl State {
    /// The progress of this rank, for a message to rank 0. `round_trip_ns` is the longest round trip since the order
    /// was received.
    pub fn report(&mut self, round_trip_ns: u64) -> Progress {
        self.unreported = false;
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

    /// Whether rank 0 must be contacted immediately.
    pub fn has_news(&self) -> bool {
        self.unreported || self.done.is_some() && !self.told || self.played.is_some()
    }

    /// Returns the current order if the main thread has not taken it yet. If it has, the order counts as done now.
    fn next_order(&mut self) -> Option<Order> {
        if self.taken {
            self.done.get_or_insert(None);
            return None;
        }
        let order = self.what.clone()?;
        (self.taken, self.unreported) = (true, true);
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
pub struct MemberState {
    state: Mutex<State>,
    changed: Condvar,
}

impl MemberState {
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn wait<'a>(&self, state: MutexGuard<'a, State>, most: Duration) -> MutexGuard<'a, State> {
        self.changed.wait_timeout(state, most).unwrap_or_else(PoisonError::into_inner).0
    }

    pub fn changed(&self) {
        self.changed.notify_all();
    }

    /// Waits until the state changes, for at most this time.
    pub fn pause(&self, span: Duration) {
        drop(self.wait(self.lock(), span));
    }

    /// Returns the next order if it has arrived. The previous order then counts as done.
    #[cfg(test)]
    pub fn take_order(&self) -> Option<Order> {
        self.lock().next_order()
    }

    pub fn next_order(&self) -> Result<Order, Rank0Lost> {
        let mut state = self.lock();
        loop {
            if let Some(why) = &state.lost {
                return Err(why.clone());
            }
            let was_done = state.done.is_some();
            let order = state.next_order();
            // The other thread is notified only if something changed, so that it sends no unnecessary messages to
            // rank 0.
            if order.is_some() || state.done.is_some() != was_done {
                self.changed();
            }
            if let Some(order) = order {
                // Rank 0 waits for the message that the order is done. So this thread waits until the other thread
                // has sent it.
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
        if state.stopped || state.lost.is_some() { alarm() } else { state.alarm = Some(alarm) }
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
            (state.prepared, state.unreported) = (Some(workload_hash.to_owned()), true);
            self.changed();
        }
        state.start
    }

    pub fn end_pass(&self, report: PassReport) -> Result<(), Rank0Lost> {
        let mut state = self.lock();
        let order = state.order;
        state.played = Some(report);
        self.changed();
        loop {
            match &state.lost {
                Some(why) => return Err(why.clone()),
                // `told` is reset if rank 0's reply contained the next order.
                None if state.told || state.order != order => return Ok(()),
                None => state = self.wait(state, LOOK_EVERY),
            }
        }
    }

    pub fn fail(&self, why: String) {
        let mut state = self.lock();
        (state.failed, state.unreported) = (Some(why), true);
        self.changed();
        while !state.left {
            state = self.wait(state, LOOK_EVERY);
        }
    }
}

#[cfg(test)]
mod tests {
    use inferometer_model::cell::CellPlan;

    use super::*;

    /// An action of the main thread, for which rank 0 must be contacted immediately.
    type Action = fn(&MemberState);

    #[test]
    fn each_change_by_the_main_thread_is_news_until_the_other_thread_reports_it() {
        let shared = MemberState::default();
        // Without this, `fail` would wait for the other thread.
        shared.lock().left = true;
        shared.lock().take_order(1, Order::WarmUp { cell: CellPlan::OWN });
        let actions: [(&str, Action); 4] = [
            ("takes the order", |shared| _ = shared.take_order()),
            ("is prepared", |shared| _ = shared.start("hash")),
            ("is done", |shared| _ = shared.take_order()),
            ("fails", |shared| shared.fail("no tokenizer".to_owned())),
        ];
        for (name, action) in actions {
            assert!(!shared.lock().has_news(), "before it {name}");
            action(&shared);
            assert!(shared.lock().has_news(), "after it {name}");
            let progress = shared.lock().report(0);
            shared.lock().told = matches!(progress, Progress::Done(_));
        }
        shared.start("hash");
        assert!(!shared.lock().has_news(), "rank 0 already knows that this rank is prepared");
    }
}
