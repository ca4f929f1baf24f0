//! One timer per connection. This module only returns which timers have expired.

use std::{cmp::Reverse, collections::BinaryHeap};

use inferometer_net::{ConnId, Nanos};

/// The timers of all connections. If a timer is armed again with a later time, it still expires at the earlier time,
/// and the caller then arms it again. Therefore, a timer can be armed for each token at almost no cost.
#[derive(Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Nanos, ConnId)>>,
    /// The time for which each slot's timer is armed. Entries of the heap with other times are outdated.
    armed: Vec<Option<(Nanos, ConnId)>>,
}

impl Timers {
    /// Arms a connection's timer, unless it expires earlier anyway.
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

    /// The earliest instant at which a timer may expire.
    pub fn next(&self) -> Option<Nanos> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    /// A connection whose timer has expired; the timer is disarmed.
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
