//! Interruption by the user: the first one stops the run cleanly, the second one at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use inferometer_net::Waker;

use crate::exit::{Failure, tell};
use crate::tui;

/// Set when the user has interrupted; for all runs of this process.
static STOP: OnceLock<Arc<AtomicBool>> = OnceLock::new();
/// Wakes the driver of the run that goes on.
static WAKER: Mutex<Option<Waker>> = Mutex::new(None);

/// A flag that is set, and a driver that is woken, when the user interrupts.
///
/// # Errors
/// When the system does not let signals be handled.
pub fn on_interrupt(waker: Waker) -> Result<Arc<AtomicBool>, Failure> {
    *WAKER.lock().unwrap_or_else(PoisonError::into_inner) = Some(waker);
    if let Some(stop) = STOP.get() {
        return Ok(Arc::clone(stop));
    }
    ctrlc::set_handler(interrupt)
        .map_err(|error| Failure::not_carried_out(format!("signals cannot be handled: {error}")))?;
    Ok(Arc::clone(STOP.get_or_init(|| Arc::new(AtomicBool::new(false)))))
}

/// The user interrupts: by a signal, or by a key while keys are no signals.
pub fn interrupt() {
    let Some(flag) = STOP.get() else { std::process::exit(130) };
    if flag.swap(true, Ordering::Relaxed) {
        tui::give_back();
        std::process::exit(130);
    }
    tell("\nstopping; what was recorded is kept (once more to stop at once)");
    if let Some(waker) = &*WAKER.lock().unwrap_or_else(PoisonError::into_inner) {
        waker.wake();
    }
}
