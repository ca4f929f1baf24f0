//! Mistakes in a spec, each with its key, all of them gathered.

use super::limits::MAX_REQUESTS;
use super::values::Value;

/// One mistake in a spec.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}{}: {problem}", flag_of(key))]
pub struct SpecError {
    /// The key of the plan file.
    pub key: &'static str,
    /// What was found, what is wrong with it, what to do.
    pub problem: String,
}

/// ` (--flag)` of a key; tables of a plan file have none.
fn flag_of(key: &str) -> String {
    if key == "server" { String::new() } else { format!(" (--{})", key.replace('_', "-")) }
}

/// The mistakes found so far.
#[derive(Default)]
pub(crate) struct Mistakes(pub(crate) Vec<SpecError>);

impl Mistakes {
    pub(crate) fn add(&mut self, key: &'static str, problem: impl Into<String>) {
        self.0.push(SpecError { key, problem: problem.into() });
    }

    /// Reads a value if it was given; a mistake is noted.
    pub(crate) fn read<T>(
        &mut self,
        key: &'static str,
        value: Option<&Value>,
        read: impl Fn(&Value) -> Result<T, &'static str>,
    ) -> Option<T> {
        match read(value?) {
            Ok(read) => Some(read),
            Err(problem) => {
                self.add(key, format!("`{}` {problem}", value?));
                None
            }
        }
    }

    /// A count of requests or of what has requests, which must not be 0.
    pub(crate) fn count(&mut self, key: &'static str, given: Option<u32>, default: u32) -> u32 {
        let count = given.unwrap_or(default);
        if count == 0 {
            self.add(key, "is 0; give at least 1");
        }
        if count > MAX_REQUESTS {
            self.add(key, format!("{count} are too many; at most {MAX_REQUESTS} are counted"));
        }
        count
    }
}
