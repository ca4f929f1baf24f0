//! Standard output and standard error. Lines wait while the whole terminal shows a run.

use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

use inferometer_report::terminal::Colour;

/// Lines that wait while the terminal shows something else.
static HELD: Mutex<Option<Vec<String>>> = Mutex::new(None);

/// From now on lines wait, because the terminal is not one of lines.
pub fn hold() {
    HELD.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default();
}

/// The last lines that wait.
pub fn held_last(count: usize) -> Vec<String> {
    let held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    let lines = held.as_deref().unwrap_or_default();
    lines[lines.len().saturating_sub(count)..].to_vec()
}

/// Prints all lines that waited. From now on none waits.
pub fn release() {
    let held = HELD.lock().unwrap_or_else(PoisonError::into_inner).take();
    for line in held.unwrap_or_default() {
        let _ = writeln!(io::stderr().lock(), "{line}");
    }
}

/// Prints a line to standard error. A closed standard error is no error, and what a server wrote
/// cannot steer the terminal.
pub fn tell(line: &str) {
    let clean: String =
        line.chars().map(|c| if c.is_control() && c != '\n' { ' ' } else { c }).collect();
    if let Some(held) = &mut *HELD.lock().unwrap_or_else(PoisonError::into_inner) {
        return held.extend(clean.trim().lines().map(str::to_owned));
    }
    let _ = writeln!(io::stderr().lock(), "{clean}");
}

/// Writes a result to standard output. A reader that has closed the pipe is no error.
///
/// # Errors
/// When it cannot be written for another reason.
pub fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

/// Colours where standard output is a terminal, unless `NO_COLOR` forbids them.
pub fn colour() -> Colour {
    let forbidden = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if io::stdout().is_terminal() && !forbidden { Colour::Always } else { Colour::Never }
}

/// The value of an environment variable.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
