//! Counters that another thread may read while a pass runs. They are the source of no result.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counters of a pass so far: written by the driver, read by displays.
#[derive(Debug, Default)]
pub struct Live {
    begun: AtomicU64,
    ended: AtomicU64,
    failed: AtomicU64,
    never_begun: AtomicU64,
    chunks: AtomicU64,
}

/// The values of [`Live`] at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LiveCounts {
    /// Requests begun.
    pub begun: u64,
    /// Requests ended, whatever their outcome.
    pub ended: u64,
    /// Requests that ended without being complete.
    pub failed: u64,
    /// Planned requests that were never begun; not part of the other counts.
    pub never_begun: u64,
    /// Chunks with output received. One may carry several tokens.
    pub chunks: u64,
}

impl Live {
    /// The counters now.
    pub fn look(&self) -> LiveCounts {
        LiveCounts {
            begun: self.begun.load(Relaxed),
            ended: self.ended.load(Relaxed),
            failed: self.failed.load(Relaxed),
            never_begun: self.never_begun.load(Relaxed),
            chunks: self.chunks.load(Relaxed),
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

    pub(crate) fn chunks(&self, count: u64) {
        add(&self.chunks, count);
    }
}

impl LiveCounts {
    /// Requests that are over, including those never begun.
    pub fn over(&self) -> u64 {
        self.ended + self.never_begun
    }
}

/// Only the driver's thread writes, so no locked instruction is needed.
fn add(counter: &AtomicU64, count: u64) {
    counter.store(counter.load(Relaxed) + count, Relaxed);
}
