//! Converts the errors of the library to Python exceptions. The classes of the exceptions, with their
//! attributes, are defined in Python. This module looks up the classes.

use inferometer::{PlanError, RunError, stored_error::StoredRunError};
use inferometer_store::StoreError;
use pyo3::{IntoPyObjectExt, exceptions::PyKeyboardInterrupt, prelude::*};

/// An error. Each variant has its own class of Python exceptions.
#[derive(Debug)]
pub enum Error {
    /// `PlanError`: all mistakes of a plan. No request was sent.
    Plan(Vec<String>),
    /// `RunError`: the run failed.
    Run(String),
    /// `StoreError`: a store cannot be read, or does not contain the requested run or data.
    Store(String),
    /// `KeyboardInterrupt`: the user interrupted before anything was measured.
    Interrupted(String),
}

impl Error {
    /// The `StoreError` with this message.
    pub fn store(why: impl ToString) -> Self {
        Self::Store(why.to_string())
    }
}

impl From<PlanError> for Error {
    fn from(error: PlanError) -> Self {
        Self::Plan(error.mistakes.iter().map(|mistake| in_keywords(mistake)).collect())
    }
}

/// Replaces the names of command-line flags in an error message by keywords: `requests (--requests)` and
/// `--requests` become `requests`. Quoted commands do not change.
fn in_keywords(mistake: &str) -> String {
    const COMMAND: &str = "`inferometer ";
    let mut text = String::new();
    for (nth, part) in mistake.split(COMMAND).enumerate() {
        let (command, rest) = match nth {
            0 => ("", part),
            _ => part.split_at(part.find('`').unwrap_or(part.len())),
        };
        if nth > 0 {
            text += COMMAND;
        }
        text += command;
        text += &without_flags(rest);
    }
    text
}

fn without_flags(text: &str) -> String {
    let is_of_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let (mut told, mut rest) = (String::new(), text);
    while let Some(at) = rest.find("--") {
        let (before, flag) = rest.split_at(at);
        let end = flag[2..].find(|c| !is_of_name(c)).map_or(flag.len(), |end| end + 2);
        let name = flag[2..end].replace('-', "_");
        rest = &flag[end..];
        match before.strip_suffix(" (").filter(|key| key.ends_with(&name) && !name.is_empty()) {
            Some(key) if rest.starts_with(')') => {
                told += key;
                rest = &rest[1..];
            }
            _ => {
                told += before;
                told += if name.is_empty() { "--" } else { &name };
            }
        }
    }
    told + rest
}

impl From<RunError> for Error {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Plan(error) => error.into(),
            RunError::Interrupted(_) => Self::Interrupted(error.to_string()),
            RunError::Store(error) => error.into(),
            other => Self::Run(other.to_string()),
        }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::store(error)
    }
}

impl From<StoredRunError> for Error {
    fn from(error: StoredRunError) -> Self {
        match error {
            StoredRunError::Report(error) => error.into(),
            other => Self::store(other),
        }
    }
}

impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        Python::attach(|py| {
            let (class, value) = match error {
                Error::Plan(mistakes) => ("PlanError", mistakes.into_py_any(py)),
                Error::Run(why) => ("RunError", why.into_py_any(py)),
                Error::Store(why) => ("StoreError", why.into_py_any(py)),
                Error::Interrupted(why) => return PyKeyboardInterrupt::new_err(why),
            };
            let made = || {
                let class = py.import("inferometer._errors")?.getattr(class)?;
                PyResult::Ok(Self::from_value(class.call1((value?,))?))
            };
            made().unwrap_or_else(|error| error)
        })
    }
}
