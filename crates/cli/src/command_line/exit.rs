//! The failures of commands and their exit codes. Errors of the library are converted to failures with a message and an
//! exit code.

use std::fmt::{self, Display};

use crate::{command_line::console, stored_error::StoredRunError};
use inferometer_check::CheckError;
use inferometer_report::judgement::{Judgement, Verdict};
use inferometer_run::{PlanError, RunError, Shortfall};

/// The kinds of failures, the gravest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Interrupted by the user.
    Interrupted,
    /// Wrong usage or a wrong plan. Nothing was measured.
    Usage,
    /// The command could not be carried out, or too many requests of its run failed.
    RunFailed,
    /// An objective or a condition of a gate was not met, or requests arrived faster than the server completed them.
    /// With `--strict`, also: a condition of a gate is undecided.
    Objective,
    /// The run is suspect, and `--strict` was given.
    Suspect,
    /// An objective or the answer of a search is undecided, and `--strict` was given.
    Undecided,
}

/// A failed command. Everything that could be stored has been stored.
#[derive(Debug)]
pub struct Failure {
    /// The kind of the failure.
    pub kind: Kind,
    /// The mistakes in the usage or in the plan; for other kinds, one message.
    pub lines: Vec<String>,
    /// Whether a run with objectives or a gate failed: the failure is printed as FAIL.
    is_judged: bool,
}

impl Failure {
    /// A failure with one message.
    pub fn new(kind: Kind, message: impl Display) -> Self {
        Self { kind, lines: vec![message.to_string()], is_judged: false }
    }

    /// Wrong usage, with one message.
    pub fn usage(error: impl Display) -> Self {
        Self::new(Kind::Usage, error)
    }

    /// Wrong usage, with the mistakes that were found.
    pub fn mistakes(lines: Vec<String>) -> Self {
        Self { kind: Kind::Usage, lines, is_judged: false }
    }

    /// The command could not be carried out.
    pub fn run_failed(error: impl Display) -> Self {
        Self::new(Kind::RunFailed, error)
    }

    /// A failure if the judgement is FAIL.
    ///
    /// # Errors
    /// The failure.
    pub fn of_judgement(judgement: Option<&Judgement>) -> Result<(), Self> {
        match judgement {
            Some(Judgement { verdict: Verdict::Fail, sentence }) => {
                Err(Self::new(Kind::Objective, sentence))
            }
            _ => Ok(()),
        }
    }

    /// The exit code of the process: 1 to 4, or 130 after an interruption.
    pub fn code(&self) -> u8 {
        match self.kind {
            Kind::RunFailed => 1,
            Kind::Usage => 2,
            Kind::Objective => 3,
            Kind::Suspect | Kind::Undecided => 4,
            Kind::Interrupted => 130,
        }
    }

    /// Marks the failure of a run with objectives or a gate, so that its line begins with FAIL. (The line of a success
    /// begins with PASS.) `Objective` and `Undecided` need no mark, because their lines always begin with a verdict.
    /// Wrong usage is not marked, because nothing was measured.
    #[must_use]
    pub fn judged(mut self) -> Self {
        self.is_judged = matches!(self.kind, Kind::RunFailed | Kind::Suspect | Kind::Interrupted);
        self
    }

    /// Adds the name of the server to the failure; an empty name changes nothing.
    #[must_use]
    pub fn of(mut self, name: &str) -> Self {
        if !name.is_empty() {
            self.lines.iter_mut().for_each(|line| line.insert_str(0, &format!("{name}: ")));
        }
        self
    }

    /// Adds a failure of the same kind, so that one line names all of them.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.lines.extend(other.lines);
        if self.kind != Kind::Usage {
            self.lines = vec![self.lines.join("; ")];
        }
        self
    }

    /// Prints the failure on standard error, one line for each message.
    pub fn print(&self) {
        let word = match self.kind {
            Kind::Objective => Verdict::Fail.word(),
            _ if self.is_judged => Verdict::Fail.word(),
            Kind::Undecided => Verdict::Undecided.word(),
            _ => "error",
        };
        for line in &self.lines {
            console::tell(&format!("{word}: {line}"));
        }
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines.join("; "))
    }
}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Self {
        Self::mistakes(error.mistakes)
    }
}

impl From<Shortfall> for Failure {
    fn from(shortfall: Shortfall) -> Self {
        let kind = match shortfall {
            Shortfall::Interrupted(_) => Kind::Interrupted,
            Shortfall::Failed(_) => Kind::RunFailed,
            Shortfall::Objective(_) => Kind::Objective,
            Shortfall::Suspect(_) => Kind::Suspect,
            Shortfall::Undecided(_) => Kind::Undecided,
        };
        Self::new(kind, shortfall)
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Plan(error) => error.into(),
            RunError::Shortfall(shortfall) => shortfall.into(),
            RunError::OfServer { name, source } => Self::from(*source).of(&name),
            RunError::Interrupted(_) => Self::new(Kind::Interrupted, error),
            _ => Self::run_failed(error),
        }
    }
}

impl From<CheckError> for Failure {
    fn from(error: CheckError) -> Self {
        match error {
            CheckError::Plan(error) => error.into(),
            _ => Self::run_failed(error),
        }
    }
}

impl From<StoredRunError> for Failure {
    fn from(error: StoredRunError) -> Self {
        match error {
            StoredRunError::Refused(why) => Self::usage(why),
            StoredRunError::Plan(error) => error.into(),
            StoredRunError::Report(error) => error.into(),
            _ => Self::run_failed(error),
        }
    }
}

/// Returns the first of two failures, which determines the exit code. If both failed, prints the second failure.
///
/// # Errors
/// The first failure; if there is none, the second failure.
pub fn first_of(first: Result<(), Failure>, second: Result<(), Failure>) -> Result<(), Failure> {
    if let (Err(_), Err(other)) = (&first, &second) {
        other.print();
    }
    first.and(second)
}

/// Writes a result to standard output. A pipe that the reader has closed is not an error.
///
/// # Errors
/// If standard output cannot be written for another reason.
pub fn print(text: &str) -> Result<(), Failure> {
    console::write(text)
        .map_err(|error| Failure::run_failed(format!("standard output cannot be written: {error}")))
}
