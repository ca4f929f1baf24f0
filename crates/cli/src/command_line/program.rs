//! The file of this program, with which it starts child processes.

use std::path::PathBuf;
use std::sync::OnceLock;

use crate::command_line::exit::Failure;

/// The file that starts this program, if it is not the file of this process.
static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Sets the file that starts this program.
pub fn is(file: PathBuf) {
    // Later calls have the same file, so they are ignored.
    let _ = PROGRAM.set(file);
}

/// The file that starts this program, if it is known.
pub fn file() -> std::io::Result<PathBuf> {
    PROGRAM.get().map_or_else(std::env::current_exe, |file| Ok(file.clone()))
}

/// Returns the file that starts this program; `what` is the feature that needs it.
///
/// # Errors
/// If the operating system does not state it.
pub fn program(what: &str) -> Result<PathBuf, Failure> {
    file().map_err(|error| {
        Failure::run_failed(format!("{what}: this program cannot find itself: {error}"))
    })
}
