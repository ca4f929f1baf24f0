//! This program, for the processes that it starts.

use std::path::PathBuf;
use std::sync::OnceLock;

use crate::command_line::exit::Failure;

/// The file that starts this program, where it is not the file of this process.
static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// From now on this file is what starts this program.
pub fn is(file: PathBuf) {
    // Whoever calls twice means the same file.
    let _ = PROGRAM.set(file);
}

/// The file that starts this program, if it is known.
pub fn file() -> std::io::Result<PathBuf> {
    PROGRAM.get().map_or_else(std::env::current_exe, |file| Ok(file.clone()))
}

/// The file that starts this program; `what` needs it.
///
/// # Errors
/// When the system does not say where it is.
pub fn program(what: &str) -> Result<PathBuf, Failure> {
    file().map_err(|error| {
        Failure::run_failed(format!("{what}: this program cannot find itself: {error}"))
    })
}
