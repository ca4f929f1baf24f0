//! The executable file of this program, for child processes.

use std::{path::PathBuf, sync::OnceLock};

use crate::command_line::Failure;

/// The executable file for child processes, if it is not the executable file of this process.
static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Sets the executable file for child processes.
pub fn set_file(file: PathBuf) {
    // Later calls have the same file, so they are ignored.
    let _ = PROGRAM.set(file);
}

/// The executable file for child processes; an error if the operating system cannot name it.
pub fn file() -> std::io::Result<PathBuf> {
    PROGRAM.get().map_or_else(std::env::current_exe, |file| Ok(file.clone()))
}

/// Like [`file`]. `what` is the command that needs the file, for the error message.
///
/// # Errors
/// If the operating system cannot name the executable file of this process.
pub fn program(what: &str) -> Result<PathBuf, Failure> {
    file().map_err(|error| {
        Failure::run_failed(format!("{what}: the path of this program is unknown: {error}"))
    })
}
