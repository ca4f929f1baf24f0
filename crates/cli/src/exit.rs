//! How a command can fail, and the exit code of each way.

use std::fmt::Display;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

/// A failed command. Everything that could be kept has been kept when one is returned.
#[derive(Debug)]
pub enum Failure {
    /// Wrong usage or plan: every error. Nothing was sent.
    Usage(Vec<String>),
    /// The plan could not be carried out, or too many of its requests failed.
    NotCarriedOut(String),
    /// An objective was not met.
    Objective(String),
    /// The instrument does not vouch for the run, and `--strict` was given.
    Suspect(String),
    /// Interrupted by the user.
    Interrupted(String),
}

impl Failure {
    /// Wrong usage, in one sentence.
    pub fn usage(error: impl Display) -> Self {
        Self::Usage(vec![error.to_string()])
    }

    /// The plan could not be carried out.
    pub fn not_carried_out(error: impl Display) -> Self {
        Self::NotCarriedOut(error.to_string())
    }

    /// The exit code, as the documentation promises it.
    pub fn code(&self) -> u8 {
        match self {
            Self::NotCarriedOut(_) => 1,
            Self::Usage(_) => 2,
            Self::Objective(_) => 3,
            Self::Suspect(_) => 4,
            Self::Interrupted(_) => 130,
        }
    }

    /// The same failure of one of several servers; of one that has no name, as it is.
    #[must_use]
    pub fn of(self, name: &str) -> Self {
        if name.is_empty() {
            return self;
        }
        let named = |line: String| format!("{name}: {line}");
        match self {
            Self::Usage(lines) => Self::Usage(lines.into_iter().map(named).collect()),
            Self::NotCarriedOut(line) => Self::NotCarriedOut(named(line)),
            Self::Objective(line) => Self::Objective(named(line)),
            Self::Suspect(line) => Self::Suspect(named(line)),
            Self::Interrupted(line) => Self::Interrupted(named(line)),
        }
    }

    fn lines(&self) -> &[String] {
        match self {
            Self::Usage(errors) => errors.as_slice(),
            Self::NotCarriedOut(line)
            | Self::Objective(line)
            | Self::Suspect(line)
            | Self::Interrupted(line) => std::slice::from_ref(line),
        }
    }

    /// What went wrong, in one text.
    pub fn words(&self) -> String {
        self.lines().join("; ")
    }

    /// Tells the user, on standard error.
    pub fn tell(&self) {
        for line in self.lines() {
            tell(&format!("error: {line}"));
        }
    }
}

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

/// Says all lines that waited; none waits from now on.
pub fn release() {
    let held = HELD.lock().unwrap_or_else(PoisonError::into_inner).take();
    for line in held.unwrap_or_default() {
        let _ = writeln!(io::stderr().lock(), "{line}");
    }
}

/// Says a line on standard error. Nobody listening is no error, and what a server wrote cannot
/// steer the terminal.
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
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::not_carried_out(format!("standard output cannot be written: {error}")))
        }
        _ => Ok(()),
    }
}
