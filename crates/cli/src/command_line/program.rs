//! This program, for the processes that it starts.

use std::path::PathBuf;

use crate::exit::Failure;

/// The file of this program; `what` needs it.
///
/// # Errors
/// When the system does not say where it is.
pub fn program(what: &str) -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| {
        Failure::run_failed(format!("{what}: this program cannot find itself: {error}"))
    })
}
