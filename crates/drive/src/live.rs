//! Counters that another thread may read while a pass runs. No result is computed from them.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use inferometer_model::{Outcome, Record};

/// Counters of a pass so far: written by the driver, read by displays.
#[derive(Debug, Default)]
pub struct Live {
    never_begun: AtomicU64,
    loops: Mutex<Vec<Arc<LoopCounts>>>,
    /// The requests of other processes that measure the same pass.
    others: Others,
}

/// The counters of one event loop. Only this loop writes them. Counters of different loops are on different
/// cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct LoopCounts {
    begun: AtomicU64,
    ended: AtomicU64,
    failed: AtomicU64,
    chunks: AtomicU64,
}

/// Counters of the requests of other processes. Several threads write them.
#[derive(Debug, Default)]
struct Others {
    ended: AtomicU64,
    failed: AtomicU64,
    never_begun: AtomicU64,
    chunks: AtomicU64,
}

/// The values of [`Live`] at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LiveCounts {
    /// Requests begun. A request of another process is counted only after it has ended.
    pub begun: u64,
    /// Requests ended, with any outcome.
    pub ended: u64,
    /// Requests that ended without being complete, and whose clients did not leave.
    pub failed: u64,
    /// Planned requests that were never begun. Not included in the other counts.
    pub never_begun: u64,
    /// Received chunks with output. A chunk may contain several tokens.
    pub chunks: u64,
}

impl Live {
    /// The counters now.
    pub fn look(&self) -> LiveCounts {
        let loops = self.loops.lock().unwrap_or_else(PoisonError::into_inner);
        let sum = |of: fn(&LoopCounts) -> &AtomicU64| -> u64 {
            loops.iter().map(|counts| of(counts).load(Relaxed)).sum()
        };
        let Others { ended, failed, never_begun, chunks } = &self.others;
        let ended = ended.load(Relaxed);
        LiveCounts {
            begun: sum(|counts| &counts.begun) + ended,
            ended: sum(|counts| &counts.ended) + ended,
            failed: sum(|counts| &counts.failed) + failed.load(Relaxed),
            never_begun: self.never_begun.load(Relaxed) + never_begun.load(Relaxed),
            chunks: sum(|counts| &counts.chunks) + chunks.load(Relaxed),
        }
    }

    /// Counts a request of another process. The request has ended, or was never begun.
    pub fn end_elsewhere(&self, record: &Record) {
        if record.picked.is_none() {
            self.others.never_begun.fetch_add(1, Relaxed);
            return;
        }
        self.others.chunks.fetch_add(record.token_events().count() as u64, Relaxed);
        self.others.failed.fetch_add(u64::from(record.outcome.kind().is_failed()), Relaxed);
        self.others.ended.fetch_add(1, Relaxed);
    }

    /// Adds counters for another event loop, and returns them.
    pub(crate) fn of_loop(&self) -> Arc<LoopCounts> {
        let counts = Arc::<LoopCounts>::default();
        let mut loops = self.loops.lock().unwrap_or_else(PoisonError::into_inner);
        loops.push(Arc::clone(&counts));
        counts
    }

    /// Counts a request that never begins. Must be called by one event loop at a time.
    pub(crate) fn never_begin(&self) {
        add(&self.never_begun, 1);
    }
}

impl LoopCounts {
    pub(crate) fn begin(&self) {
        add(&self.begun, 1);
    }

    pub(crate) fn end(&self, outcome: Outcome) {
        add(&self.ended, 1);
        if outcome.kind().is_failed() {
            add(&self.failed, 1);
        }
    }

    pub(crate) fn chunks(&self, count: u64) {
        add(&self.chunks, count);
    }
}

impl LiveCounts {
    /// The number of requests that have ended or were never begun.
    pub fn over(&self) -> u64 {
        self.ended + self.never_begun
    }
}

/// Adds to a counter. Only one thread at a time writes it, so no atomic addition is needed.
fn add(counter: &AtomicU64, count: u64) {
    counter.store(counter.load(Relaxed) + count, Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_model::fixture::steady;
    use inferometer_model::time::Nanos;

    #[test]
    fn live_counts_include_the_requests_of_other_processes() {
        let live = Live::default();
        let own = live.of_loop();
        own.begin();
        own.begin();
        own.end(Outcome::Complete);
        live.end_elsewhere(&steady(0.0, 10.0, 1.0, 5));
        live.end_elsewhere(&Record { outcome: Outcome::Truncated, ..steady(0.0, 10.0, 1.0, 2) });
        live.end_elsewhere(&Record::planned(0, 0, Nanos::ZERO));
        let expected = LiveCounts { begun: 4, ended: 3, failed: 1, never_begun: 1, chunks: 7 };
        assert_eq!(live.look(), expected);
    }
}
