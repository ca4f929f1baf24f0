//! Interruption by the user: the first one stops the run cleanly, the second one at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use inferometer_net::Waker;

use crate::exit::{Failure, tell};

/// Sets a flag and wakes the driver when the user interrupts.
///
/// # Errors
/// When the system does not let signals be handled.
pub fn on_interrupt(waker: Waker) -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        tell("\nstopping; what was recorded is kept (once more to stop at once)");
        waker.wake();
    })
    .map_err(|error| Failure::not_carried_out(format!("signals cannot be handled: {error}")))?;
    Ok(stop)
}
