//! The request to end a run early. An interrupted run ends its pass, records the requests in flight as
//! cancelled, and writes its results.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use inferometer_model::Nanos;
use inferometer_net::{Waker, monotonic_now};

/// Requests that come within this time of the first one belong to it: GNU `timeout`, for example, signals a program and
/// then its whole process group.
const MOMENT: Duration = Duration::from_millis(500);

/// Ends a run early, from any thread. A signal handler must not call its methods, because some of them take a lock. All
/// clones act on the same runs.
#[derive(Clone, Default)]
pub struct Interrupt(Arc<Inner>);

#[derive(Default)]
struct Inner {
    requested: Arc<AtomicBool>,
    /// When the end was requested for the first time.
    first: OnceLock<Nanos>,
    /// Whether the end was requested again, after [`MOMENT`]. The user then does not want to wait for a report.
    urgent: AtomicBool,
    /// Wakes the load generator of the run in progress, which may sleep until the next arrival.
    waker: Mutex<Option<Waker>>,
}

impl Interrupt {
    /// Ends the run in progress, and prevents later runs from beginning. Returns whether this was requested
    /// before, more than a moment ago: the run then ends without plots and tables, which can be made later from its
    /// records.
    pub fn request(&self) -> bool {
        self.request_at(monotonic_now())
    }

    fn request_at(&self, now: Nanos) -> bool {
        let before = now.since(*self.0.first.get_or_init(|| now)) > MOMENT;
        self.0.requested.store(true, Ordering::Relaxed);
        if before {
            self.0.urgent.store(true, Ordering::Relaxed);
        }
        if let Some(waker) = &*self.0.waker.lock().unwrap_or_else(PoisonError::into_inner) {
            waker.wake();
        }
        before
    }

    /// Whether the end was requested.
    pub fn is_requested(&self) -> bool {
        self.0.requested.load(Ordering::Relaxed)
    }

    /// Whether the end was requested again.
    pub(crate) fn is_urgent(&self) -> bool {
        self.0.urgent.load(Ordering::Relaxed)
    }

    /// The flag that the load generator checks in each turn of its loop.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0.requested)
    }

    /// Sets the waker of the load generator that an interruption must wake; `None` if no load generator runs.
    pub(crate) fn wakes(&self, waker: Option<Waker>) {
        *self.0.waker.lock().unwrap_or_else(PoisonError::into_inner) = waker;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_within_a_moment_are_one_request_and_a_later_one_is_urgent() {
        let interrupt = Interrupt::default();
        let ms = |ms: u64| Nanos(ms * 1_000_000);
        for (at_ms, again) in [(7_000, false), (7_000, false), (7_001, false), (7_600, true)] {
            assert_eq!(interrupt.request_at(ms(at_ms)), again, "{at_ms}");
            assert_eq!((interrupt.is_requested(), interrupt.is_urgent()), (true, again));
        }
    }
}
