//! Counters that another thread may watch while a pass runs.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What has happened so far in a pass. Written by the driver, read by whoever shows it; not a
/// source of any result.
#[derive(Debug, Default)]
pub struct Live {
    begun: AtomicU64,
    ended: AtomicU64,
    failed: AtomicU64,
    never_begun: AtomicU64,
    tokens: AtomicU64,
}

/// One look at [`Live`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LiveCounts {
    /// Requests begun.
    pub begun: u64,
    /// Requests ended, whatever their outcome.
    pub ended: u64,
    /// Requests of these that did not complete.
    pub failed: u64,
    /// Requests of the plan that were given up before they began: in none of the others.
    pub never_begun: u64,
    /// Token events received.
    pub tokens: u64,
}

impl Live {
    /// The counters now.
    #[must_use]
    pub fn look(&self) -> LiveCounts {
        LiveCounts {
            begun: self.begun.load(Relaxed),
            ended: self.ended.load(Relaxed),
            failed: self.failed.load(Relaxed),
            never_begun: self.never_begun.load(Relaxed),
            tokens: self.tokens.load(Relaxed),
        }
    }

    pub(crate) fn begin(&self) {
        add(&self.begun, 1);
    }

    pub(crate) fn end(&self, complete: bool) {
        add(&self.ended, 1);
        if !complete {
            add(&self.failed, 1);
        }
    }

    pub(crate) fn never_begin(&self) {
        add(&self.never_begun, 1);
    }

    pub(crate) fn tokens(&self, count: u64) {
        add(&self.tokens, count);
    }
}

impl LiveCounts {
    /// Requests that are over, also those that never began: what is done of a plan.
    #[must_use]
    pub fn over(&self) -> u64 {
        self.ended + self.never_begun
    }
}

/// Only the driver's thread writes, so that no locked instruction is needed.
fn add(counter: &AtomicU64, count: u64) {
    counter.store(counter.load(Relaxed) + count, Relaxed);
}
