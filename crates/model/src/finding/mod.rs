//! What a reader must know before using the figures: findings with codes, numbers and advice.

pub mod code;

use serde::{Deserialize, Serialize};

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// For information.
    Note,
    /// Figures may not mean what they seem to mean.
    Warning,
}

/// A kind of finding: an entry of the table in [`code`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// A stable name, such as `output_shorter_than_asked`.
    pub name: &'static str,
    /// How much it matters, unless the finding says otherwise.
    pub severity: Severity,
    /// What it means, in one sentence.
    pub means: &'static str,
    /// What to do about it, if that is always the same.
    pub advice: Option<&'static str>,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The name of its [`Code`]. It is text, because stored findings may have codes of another version.
    pub code: String,
    /// How much it matters.
    pub severity: Severity,
    /// Where it was seen: a pass or a cell; `None` for the whole run.
    pub place: Option<String>,
    /// What was seen, with its numbers.
    pub message: String,
    /// What to do about it.
    pub advice: Option<String>,
}

impl Finding {
    /// A finding about the whole run, with the severity and the advice of its code.
    pub fn of(code: Code, message: impl Into<String>) -> Self {
        Self {
            code: code.name.to_owned(),
            severity: code.severity,
            place: None,
            message: message.into(),
            advice: code.advice.map(str::to_owned),
        }
    }

    /// Whether it has this code.
    pub fn is(&self, code: Code) -> bool {
        self.code == code.name
    }

    /// Whether it has one of these codes.
    pub fn is_one_of(&self, codes: &[Code]) -> bool {
        codes.iter().any(|code| self.is(*code))
    }

    /// Sets how much it matters, if that depends on what was seen.
    #[must_use]
    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// Sets where it was seen.
    #[must_use]
    pub fn at(mut self, place: impl Into<String>) -> Self {
        self.place = Some(place.into());
        self
    }

    /// Sets what to do about it, if that depends on what was seen.
    #[must_use]
    pub fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }
}
