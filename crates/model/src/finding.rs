//! What a reader must know before using the figures: typed, with the numbers and the advice.

use serde::{Deserialize, Serialize};

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Good to know.
    Note,
    /// Figures may not mean what they seem to mean.
    Warning,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// A stable name, such as `output_shorter_than_asked`.
    pub code: String,
    /// How much it matters.
    pub severity: Severity,
    /// Where it was seen: a pass, a cell, or absent for the whole run.
    pub place: Option<String>,
    /// What was seen, with its numbers.
    pub message: String,
    /// What to do about it.
    pub advice: Option<String>,
}

impl Finding {
    /// A finding about the whole run.
    pub fn new(code: &str, severity: Severity, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), severity, place: None, message: message.into(), advice: None }
    }

    /// Says where it was seen.
    #[must_use]
    pub fn at(mut self, place: impl Into<String>) -> Self {
        self.place = Some(place.into());
        self
    }

    /// Says what to do about it.
    #[must_use]
    pub fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }
}
