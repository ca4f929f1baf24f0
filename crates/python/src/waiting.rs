//! Runs work on a separate thread. Meanwhile, the calling thread reports progress to Python and handles
//! Python's signals. Python's lock is released while the calling thread waits.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::{thread, time::Duration};

use inferometer::{Interrupt, LiveState};
use pyo3::{exceptions::PyRuntimeError, prelude::*};

use crate::progress;

/// How often signals are checked, and the progress of a pass is reported.
const TURN: Duration = Duration::from_millis(100);

/// After a second request to end, the caller waits at most this number of turns without an event: ten seconds
/// in total.
const PATIENCE: u32 = 100;

/// The messages from the working thread to the waiting thread.
pub enum FromWorker<T> {
    /// An event, as a JSON document.
    Event(String),
    /// The result of the work, which has ended.
    Done(T),
}

/// The reaction to a signal or to an exception of the callback.
pub enum OnSignal<'a> {
    /// Request the end of the run, and wait until the run has ended, so that its records are stored.
    Stop(&'a Interrupt),
    /// Raise the exception immediately. The work cannot be stopped, and ends later by itself.
    Leave,
}

/// The result of waiting for the work.
pub struct Waited<T> {
    /// The result of the work.
    pub result: T,
    /// The exception that a signal or the callback raised while the work ran; `None` if there was none.
    pub raised: Option<PyErr>,
}

/// The channels and values that the waiting thread uses.
pub struct Listening<'a, T> {
    /// Receives the messages of the working thread.
    pub receiver: Receiver<FromWorker<T>>,
    /// The state of the run, from which progress is reported.
    pub live: &'a LiveState,
    /// The callback. It is called with each event and with the progress, as JSON documents.
    pub on_event: Option<&'a Py<PyAny>>,
}

/// Starts the work on a separate thread, and waits for its end. The callback is called on the current thread.
///
/// # Errors
/// The exception that a signal or the callback raised, if the work cannot be stopped, or if its end was
/// requested twice. Also an error if no thread can be started, or if the working thread fails.
pub fn wait<T: Send + 'static>(
    py: Python<'_>,
    sender: Sender<FromWorker<T>>,
    Listening { receiver, live, on_event }: Listening<'_, T>,
    on_signal: &OnSignal<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<Waited<T>> {
    thread::Builder::new().name("inferometer".to_owned()).spawn(move || {
        let result = work();
        // If the caller has stopped waiting, the result is dropped.
        let _ = sender.send(FromWorker::Done(result));
    })?;
    let receiver = Mutex::new(receiver);
    let mut raised: Option<PyErr> = None;
    // After a second request to end: the number of remaining turns, and the exception to raise after them.
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
        // A callback that raised an exception is not called again.
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

/// Waits for the next message, for at most [`TURN`].
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
