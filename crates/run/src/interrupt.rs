//! The wish to end a run early. A run that is interrupted ends its pass, records what is in flight
//! as interrupted, and writes its results.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use inferometer_net::Waker;

/// Ends a run early, from any thread or from a signal handler; clones mean the same runs.
#[derive(Clone, Default)]
pub struct Interrupt(Arc<Inner>);

#[derive(Default)]
struct Inner {
    requested: Arc<AtomicBool>,
    /// Asked for more than once: nobody waits for a report.
    urgent: AtomicBool,
    /// Wakes the load generator of the run in progress, which may sleep until the next arrival.
    waker: Mutex<Option<Waker>>,
}

impl Interrupt {
    /// Asks the run in progress to end, and those that follow not to begin. Says whether that was
    /// asked before: the run then ends without plots and tables, which can be made of its records.
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

    /// Whether the end was asked for.
    pub fn is_requested(&self) -> bool {
        self.0.requested.load(Ordering::Relaxed)
    }

    /// Whether the end was asked for more than once.
    pub(crate) fn is_urgent(&self) -> bool {
        self.0.urgent.load(Ordering::Relaxed)
    }

    /// The flag that the load generator looks at in each of its turns.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0.requested)
    }

    /// From now on this load generator is woken.
    pub(crate) fn wakes(&self, waker: Option<Waker>) {
        *self.0.waker.lock().unwrap_or_else(PoisonError::into_inner) = waker;
    }
}
