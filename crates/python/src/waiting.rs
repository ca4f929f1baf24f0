//! Work on a separate thread, while the calling thread reports progress to Python and handles its
//! signals. Python's lock is held only while Python code is called.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use inferometer::{Interrupt, LiveState};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::progress;

/// How often signals are looked for, and the progress of a pass is told.
const TURN: Duration = Duration::from_millis(100);

/// For how many turns without an event the work may go on after it was asked twice to end: ten seconds.
const PATIENCE: u32 = 100;

/// What the thread that works tells the one that waits.
pub enum FromWorker<T> {
    /// An event, as a JSON document.
    Event(String),
    /// The end.
    Done(T),
}

/// What a signal does.
pub enum OnSignal<'a> {
    /// The run is asked to end, and is waited for: what it recorded is kept.
    Stop(&'a Interrupt),
    /// The signal is raised at once; the work cannot be stopped, and ends by itself.
    Leave,
}

/// What became of the work.
pub struct Waited<T> {
    /// Its result.
    pub result: T,
    /// What was raised meanwhile, by a signal or by the callback.
    pub raised: Option<PyErr>,
}

/// The events of the waiting thread, and their receiver.
pub struct Listening<'a, T> {
    /// The other end of what the work sends.
    pub receiver: Receiver<FromWorker<T>>,
    /// The state of the run, for reports of progress.
    pub live: &'a LiveState,
    /// Called with each event and with the progress, as JSON documents.
    pub on_event: Option<&'a Py<PyAny>>,
}

/// Starts the work on a thread, and waits for its end. The callback is called on this thread.
///
/// # Errors
/// What a signal raises, where the work is left alone, or was asked twice to end; when there is no thread.
pub fn wait<T: Send + 'static>(
    py: Python<'_>,
    sender: Sender<FromWorker<T>>,
    Listening { receiver, live, on_event }: Listening<'_, T>,
    on_signal: &OnSignal<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<Waited<T>> {
    thread::Builder::new().name("inferometer".to_owned()).spawn(move || {
        let result = work();
        // Whoever gave up waiting hears nothing.
        let _ = sender.send(FromWorker::Done(result));
    })?;
    let receiver = Mutex::new(receiver);
    let mut raised: Option<PyErr> = None;
    // How many turns the work still has, and what is raised then; once it was asked twice to end.
    let mut last: Option<(u32, PyErr)> = None;
    loop {
        let told = match turn(py, &receiver)? {
            Some(FromWorker::Done(result)) => {
                return last.map_or(Ok(Waited { result, raised }), |(_, error)| Err(error));
            }
            Some(FromWorker::Event(event)) => Some(event),
            None => {
                last = last.map(|(turns, error)| (turns.saturating_sub(1), error));
                None
            }
        };
        // A callback that failed is not called again.
        let callback = on_event.filter(|_| raised.is_none());
        let called = callback.and_then(|callback| {
            let event = told.or_else(|| progress::of(live))?;
            Some(callback.call1(py, (event,)).map(drop))
        });
        if let Some((_, error)) = last.take_if(|(turns, _)| *turns == 0) {
            return Err(error);
        }
        let Err(error) = called.unwrap_or(Ok(())).and_then(|()| py.check_signals()) else {
            continue;
        };
        match on_signal {
            OnSignal::Leave => return Err(error),
            OnSignal::Stop(interrupt) => {
                if last.is_some() {
                    return Err(error);
                }
                match interrupt.request() {
                    true => last = Some((PATIENCE, error)),
                    false => raised = Some(error),
                }
            }
        }
    }
}

/// Waits a moment for what is told.
fn turn<T: Send>(
    py: Python<'_>,
    receiver: &Mutex<Receiver<FromWorker<T>>>,
) -> PyResult<Option<FromWorker<T>>> {
    let told =
        py.detach(|| receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(TURN));
    match told {
        Ok(told) => Ok(Some(told)),
        Err(RecvTimeoutError::Timeout) => Ok(None),
        Err(RecvTimeoutError::Disconnected) => Err(PyRuntimeError::new_err(
            "inferometer: the measuring thread failed; its message is on standard error",
        )),
    }
}
