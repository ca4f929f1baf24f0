//! Findings: facts that affect the meaning of figures, each with a code, a message and possibly advice.

pub mod code;

use serde::{Deserialize, Serialize};

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// For information.
    Note,
    /// Figures may be wrong or misleading.
    Warning,
}

/// A kind of finding: an entry of the table in [`code`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// A stable name, such as `output_shorter_than_asked`.
    pub name: &'static str,
    /// The severity of its findings, unless a finding sets another one.
    pub severity: Severity,
    /// The meaning, in one sentence.
    pub means: &'static str,
    /// The advice of its findings, unless a finding sets another one; `None` if the table has no advice.
    pub advice: Option<&'static str>,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The name of the finding's [`Code`]. It is a text, because stored findings may have codes of
    /// another version of this program.
    pub code: String,
    /// How much the finding matters.
    pub severity: Severity,
    /// The pass or the cell that the finding is about; `None` for the whole run.
    pub place: Option<String>,
    /// The facts that were found, with numbers.
    pub message: String,
    /// What the user can do; `None` if there is no advice.
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

    /// Whether the finding has this code.
    pub fn is(&self, code: Code) -> bool {
        self.code == code.name
    }

    /// Whether the finding has one of these codes.
    pub fn is_one_of(&self, codes: &[Code]) -> bool {
        codes.iter().any(|code| self.is(*code))
    }

    /// Replaces the severity of the code. Used if the severity depends on what was found.
    #[must_use]
    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// Sets the pass or the cell that the finding is about.
    #[must_use]
    pub fn at(mut self, place: impl Into<String>) -> Self {
        self.place = Some(place.into());
        self
    }

    /// Replaces the advice of the code. Used if the advice depends on what was found.
    #[must_use]
    pub fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }
}
