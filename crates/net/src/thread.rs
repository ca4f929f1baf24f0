//! Starts threads. If a thread cannot be started, the result is an error; nothing panics. If a limit of the system is
//! the cause, the error has advice.

use std::io;
use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle};

/// Starts a thread.
///
/// # Errors
/// When the system refuses another thread.
pub fn spawn<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    Builder::new().spawn(work).map_err(refused)
}

/// Starts a thread in a scope of `std::thread::scope`.
///
/// # Errors
/// When the system refuses another thread.
pub fn spawn_scoped<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    Builder::new().spawn_scoped(scope, work).map_err(refused)
}

fn refused(error: io::Error) -> io::Error {
    let error = with_advice(error);
    io::Error::new(error.kind(), format!("a thread cannot be started: {error}"))
}

/// Adds advice to the error of a failed start of a thread or a process, if a limit of the system is the
/// cause. Returns other errors unchanged.
pub fn with_advice(error: io::Error) -> io::Error {
    if error.kind() != io::ErrorKind::WouldBlock {
        return error;
    }
    let what = format!(
        "{error}; raise the limit of processes and threads (`ulimit -u`, or that of the container)"
    );
    io::Error::new(error.kind(), what)
}
