//! Interruptions by the user: the first interruption stops the run cleanly, the second one ends the process. Before a
//! run has begun, the first interruption also ends the process, after a short wait.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, OnceLock, PoisonError};
use std::time::Duration;

use inferometer_net::spawn;
use inferometer_run::Interrupt;

use crate::command_line::tell;

/// The interruption flag that all runs of this process share.
static INTERRUPT: OnceLock<Interrupt> = OnceLock::new();
/// Whether a run has begun, so that there are records to store.
static RECORDING: AtomicBool = AtomicBool::new(false);
/// The ids of the runs of this process that have begun, in the order of their beginning.
static RUNS: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// The time that operations before a run, such as a request to a server, have to finish after an interruption.
const PATIENCE: Duration = Duration::from_millis(700);
/// A function that is called before an interruption ends this process.
static BEFORE_EXIT: Mutex<Option<fn()>> = Mutex::new(None);

/// The interruption flag that all runs of this process share.
pub fn shared() -> Interrupt {
    INTERRUPT.get_or_init(Interrupt::default).clone()
}

/// From now on, signals interrupt the runs of this process instead of ending the process.
pub fn handle_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if let Err(error) = ctrlc::set_handler(interrupt) {
            warn_that_signals_end(&error);
        }
    });
}

/// Warns that there is no handler of signals, because of this error.
pub fn warn_that_signals_end(error: &ctrlc::Error) {
    let cause = match error {
        ctrlc::Error::System(cause) => cause.to_string(),
        other => other.to_string(),
    };
    tell(&format!(
        "warning: signals cannot be handled ({cause}), so they end this program immediately"
    ));
}

/// From now on there are records to store, so an interruption waits until the records are written.
pub fn recording() {
    RECORDING.store(true, Ordering::Relaxed);
}

/// Like [`recording`], for the run with this id.
pub fn recording_run(id: &str) {
    RUNS.lock().unwrap_or_else(PoisonError::into_inner).push(id.to_owned());
    recording();
}

/// Sets the function that is called before an interruption ends this process.
pub fn before_exit(what: fn()) {
    *BEFORE_EXIT.lock().unwrap_or_else(PoisonError::into_inner) = Some(what);
}

/// Handles an interruption: a signal, or a key press while a full-screen view disables signals from the terminal.
pub fn interrupt() {
    if shared().request() {
        end();
    }
    // Several signals may arrive in a moment: `Interrupt::request`.
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if RECORDING.load(Ordering::Relaxed) {
            tell("\nstopping; the records are kept (interrupt again to stop immediately)");
        } else if spawn(end_after_patience).is_err() {
            end_after_patience();
        }
    });
}

/// Ends this process after a pause, unless a run has begun: a request to a server or the reading of a file cannot be
/// cancelled.
fn end_after_patience() {
    std::thread::sleep(PATIENCE);
    if !RECORDING.load(Ordering::Relaxed) {
        tell("error: interrupted before anything was measured");
        end();
    }
}

/// Ends this process.
fn end() {
    if let Some(what) = *BEFORE_EXIT.lock().unwrap_or_else(PoisonError::into_inner) {
        what();
    }
    if let Some(line) = kept(&RUNS.lock().unwrap_or_else(PoisonError::into_inner)) {
        tell(&line);
    }
    std::process::exit(130);
}

/// A message that names the runs whose records are stored; `None` if no run has begun.
fn kept(runs: &[String]) -> Option<String> {
    let (last, before) = runs.split_last()?;
    let others = match before.len() {
        0 => String::new(),
        1 => " (and 1 earlier run: inferometer runs)".to_owned(),
        count => format!(" (and {count} earlier runs: inferometer runs)"),
    };
    Some(format!(
        "error: interrupted again; the records are kept as run {last}{others}; for a report: inferometer report {last}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_names_the_last_stored_run_and_counts_the_earlier_runs() {
        let runs = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(kept(&[]), None);
        assert!(kept(&runs[..1]).is_some_and(|line| line.contains("kept as run a; for a report")));
        assert!(kept(&runs).is_some_and(|line| line.contains("run c (and 2 earlier runs")));
    }
}
