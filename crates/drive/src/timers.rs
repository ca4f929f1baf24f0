//! One timer per connection. It only tells which have fired.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use inferometer_net::{ConnId, Nanos};

/// The timers of all connections. A timer that is armed again with a later time still fires at the
/// earlier one, so that arming costs nothing per token; the caller then arms it again.
#[derive(Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Nanos, ConnId)>>,
    /// The time at which each slot's timer is armed; entries of the heap that differ are stale.
    armed: Vec<Option<(Nanos, ConnId)>>,
}

impl Timers {
    /// Arms a connection's timer, unless it fires earlier anyway.
    pub fn arm(&mut self, conn: ConnId, at: Nanos) {
        if self.armed.len() <= conn.slot() {
            self.armed.resize(conn.slot() + 1, None);
        }
        let armed = &mut self.armed[conn.slot()];
        if armed.is_some_and(|(time, owner)| owner == conn && time <= at) {
            return;
        }
        *armed = Some((at, conn));
        self.heap.push(Reverse((at, conn)));
    }

    /// When the next timer fires.
    pub fn next(&self) -> Option<Nanos> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    /// A connection whose timer has fired; it is disarmed.
    pub fn due(&mut self, now: Nanos) -> Option<ConnId> {
        while let Some(&Reverse((at, conn))) = self.heap.peek() {
            if at > now {
                return None;
            }
            self.heap.pop();
            let armed = &mut self.armed[conn.slot()];
            if *armed == Some((at, conn)) {
                *armed = None;
                return Some(conn);
            }
        }
        None
    }
}
