//! Interruption by the user: the first one stops the run cleanly, the second one at once.

use std::sync::{Mutex, Once, OnceLock, PoisonError};

use inferometer_run::Interrupt;

use crate::console::tell;

/// The interruption of all runs of this process.
static INTERRUPT: OnceLock<Interrupt> = OnceLock::new();
/// What is done before this process ends at once.
static BEFORE_EXIT: Mutex<Option<fn()>> = Mutex::new(None);

/// The interruption of all runs of this process.
pub fn shared() -> Interrupt {
    INTERRUPT.get_or_init(Interrupt::default).clone()
}

/// From now on signals interrupt the runs of this process, and do not end it.
pub fn handle_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if let Err(error) = ctrlc::set_handler(interrupt) {
            tell(&format!("warning: signals cannot be handled, they end this at once: {error}"));
        }
    });
}

/// Has something done before this process ends at once.
pub fn before_exit(what: fn()) {
    *BEFORE_EXIT.lock().unwrap_or_else(PoisonError::into_inner) = Some(what);
}

/// The user interrupts: by a signal, or by a key while keys are no signals.
pub fn interrupt() {
    if shared().request() {
        if let Some(what) = *BEFORE_EXIT.lock().unwrap_or_else(PoisonError::into_inner) {
            what();
        }
        std::process::exit(130);
    }
    tell("\nstopping; what was recorded is kept (once more to stop at once)");
}
