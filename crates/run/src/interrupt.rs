//! The request to end a run early. An interrupted run ends its pass, records the requests in flight as
//! cancelled, and writes its results.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use inferometer_net::Waker;

/// Ends a run early, from any thread. A signal handler must not call its methods, because some of them take a lock. All
/// clones act on the same runs.
#[derive(Clone, Default)]
pub struct Interrupt(Arc<Inner>);

#[derive(Default)]
struct Inner {
    requested: Arc<AtomicBool>,
    /// Whether the end was requested more than once. The user then does not want to wait for a report.
    urgent: AtomicBool,
    /// Wakes the load generator of the run in progress, which may sleep until the next arrival.
    waker: Mutex<Option<Waker>>,
}

impl Interrupt {
    /// Ends the run in progress, and prevents later runs from beginning. Returns whether this was requested
    /// before: the run then ends without plots and tables, which can be made later from its records.
    pub fn request(&self) -> bool {
        let before = self.0.requested.swap(true, Ordering::Relaxed);
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

    /// Whether the end was requested more than once.
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
