//! The failures of commands and their exit codes. Errors of the library are converted to failures with a message and an
//! exit code.

use std::fmt::{self, Display};

use crate::bundle::{BundleError, BundleRunError};
use crate::calibrate::CalibrateError;
use crate::compare::CompareError;
use crate::export::ExportRunError;
use crate::import::ImportError;
use crate::report::ReportError;
use crate::reproduce::ReproduceError;
use crate::stored::OtherVersion;
use inferometer_check::CheckError;
use inferometer_predict::PredictError;
use inferometer_report::judgement::Verdict;
use inferometer_run::{PlanError, RunError, Shortfall};

use crate::command_line::console;

/// A failed command. Everything that could be stored has been stored.
#[derive(Debug)]
pub enum Failure {
    /// Wrong usage or a wrong plan, with the mistakes that were found. Nothing was measured.
    Usage(Vec<String>),
    /// The command could not be carried out, or too many requests of its run failed.
    RunFailed(String),
    /// An objective or a condition of a gate was not met, or requests arrived faster than the server completed them.
    /// With `--strict`, also: a condition of a gate is undecided.
    Objective(String),
    /// The run is suspect, and `--strict` was given.
    Suspect(String),
    /// An objective or the answer of a search is undecided, and `--strict` was given.
    Undecided(String),
    /// Interrupted by the user.
    Interrupted(String),
    /// A failure of a run with objectives or a gate: it is printed as FAIL.
    Judged(Box<Self>),
}

impl Failure {
    /// Wrong usage, with one message.
    pub fn usage(error: impl Display) -> Self {
        Self::Usage(vec![error.to_string()])
    }

    /// The command could not be carried out.
    pub fn run_failed(error: impl Display) -> Self {
        Self::RunFailed(error.to_string())
    }

    /// The exit code of the process: 1 to 4, or 130 after an interruption.
    pub fn code(&self) -> u8 {
        match self {
            Self::RunFailed(_) => 1,
            Self::Usage(_) => 2,
            Self::Objective(_) => 3,
            Self::Suspect(_) | Self::Undecided(_) => 4,
            Self::Interrupted(_) => 130,
            Self::Judged(failure) => failure.code(),
        }
    }

    /// The severity; 0 is the most serious. Of several failures, the most serious one determines the exit code.
    pub fn severity(&self) -> u8 {
        match self {
            Self::Interrupted(_) => 0,
            Self::Usage(_) => 1,
            Self::RunFailed(_) => 2,
            Self::Objective(_) => 3,
            Self::Suspect(_) => 4,
            Self::Undecided(_) => 5,
            Self::Judged(failure) => failure.severity(),
        }
    }

    /// Marks the failure of a run with objectives or a gate, so that its line begins with FAIL. (The line of a success
    /// begins with PASS.) `Objective` and `Undecided` need no mark, because their lines always begin with a verdict.
    /// Wrong usage is not marked, because nothing was measured.
    #[must_use]
    pub fn judged(self) -> Self {
        match self {
            Self::RunFailed(_) | Self::Suspect(_) | Self::Interrupted(_) => {
                Self::Judged(Box::new(self))
            }
            Self::Usage(_) | Self::Objective(_) | Self::Undecided(_) | Self::Judged(_) => self,
        }
    }

    /// Adds the name of the server to the failure; an empty name changes nothing.
    #[must_use]
    pub fn of(self, name: &str) -> Self {
        if name.is_empty() {
            return self;
        }
        let named = |line: String| format!("{name}: {line}");
        match self {
            Self::Usage(lines) => Self::Usage(lines.into_iter().map(named).collect()),
            Self::RunFailed(line) => Self::RunFailed(named(line)),
            Self::Objective(line) => Self::Objective(named(line)),
            Self::Suspect(line) => Self::Suspect(named(line)),
            Self::Undecided(line) => Self::Undecided(named(line)),
            Self::Interrupted(line) => Self::Interrupted(named(line)),
            Self::Judged(failure) => Self::Judged(Box::new(failure.of(name))),
        }
    }

    /// Adds a failure of the same kind, so that one line names all of them.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let both = |one: String, other: &Self| format!("{one}; {other}");
        match self {
            Self::Usage(mut lines) => {
                lines.extend(other.lines().iter().cloned());
                Self::Usage(lines)
            }
            Self::RunFailed(line) => Self::RunFailed(both(line, &other)),
            Self::Objective(line) => Self::Objective(both(line, &other)),
            Self::Suspect(line) => Self::Suspect(both(line, &other)),
            Self::Undecided(line) => Self::Undecided(both(line, &other)),
            Self::Interrupted(line) => Self::Interrupted(both(line, &other)),
            Self::Judged(failure) => Self::Judged(Box::new(failure.and(other))),
        }
    }

    fn lines(&self) -> &[String] {
        match self {
            Self::Usage(errors) => errors.as_slice(),
            Self::RunFailed(line)
            | Self::Objective(line)
            | Self::Suspect(line)
            | Self::Undecided(line)
            | Self::Interrupted(line) => std::slice::from_ref(line),
            Self::Judged(failure) => failure.lines(),
        }
    }

    /// Prints the failure on standard error, one line for each message.
    pub fn print(&self) {
        let word = match self {
            Self::Objective(_) | Self::Judged(_) => Verdict::Fail.word(),
            Self::Undecided(_) => Verdict::Undecided.word(),
            _ => "error",
        };
        for line in self.lines() {
            console::tell(&format!("{word}: {line}"));
        }
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines().join("; "))
    }
}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Self {
        Self::Usage(error.mistakes)
    }
}

impl From<Shortfall> for Failure {
    fn from(shortfall: Shortfall) -> Self {
        match shortfall {
            Shortfall::Interrupted(line) => Self::Interrupted(line),
            Shortfall::Failed(line) => Self::RunFailed(line),
            Shortfall::Objective(line) => Self::Objective(line),
            Shortfall::Suspect(line) => Self::Suspect(line),
            Shortfall::Undecided(line) => Self::Undecided(line),
        }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Plan(error) => error.into(),
            RunError::Shortfall(shortfall) => shortfall.into(),
            RunError::OfServer { name, source } => Self::from(*source).of(&name),
            RunError::Interrupted(_) => Self::Interrupted(error.to_string()),
            _ => Self::run_failed(error),
        }
    }
}

impl From<PredictError> for Failure {
    fn from(error: PredictError) -> Self {
        match error {
            PredictError::Plan(error) => error.into(),
            PredictError::Run(error) => error.into(),
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

impl From<CompareError> for Failure {
    fn from(error: CompareError) -> Self {
        Self::Usage(error.mistakes)
    }
}

impl From<ImportError> for Failure {
    fn from(error: ImportError) -> Self {
        match error {
            ImportError::Files(problems) => Self::Usage(problems),
            ImportError::Bundle(error) => error.into(),
            ImportError::Open(error) => Self::usage(error),
            ImportError::Store(error) => Self::run_failed(error),
        }
    }
}

impl From<BundleRunError> for Failure {
    fn from(error: BundleRunError) -> Self {
        match error {
            BundleRunError::Store(_) | BundleRunError::Io { .. } => Self::run_failed(error),
            BundleRunError::File { source: BundleError::Unwritable(_), .. } => {
                Self::run_failed(error)
            }
            BundleRunError::Refused(_) | BundleRunError::File { .. } => Self::usage(error),
        }
    }
}

impl From<ReproduceError> for Failure {
    fn from(error: ReproduceError) -> Self {
        match error {
            ReproduceError::Refused(why) => Self::usage(why),
            ReproduceError::Plan(error) => error.into(),
            ReproduceError::Bundle(error) => error.into(),
        }
    }
}

impl From<ExportRunError> for Failure {
    fn from(error: ExportRunError) -> Self {
        match error {
            ExportRunError::Request(why) => Self::usage(why),
            ExportRunError::Report(error) => error.into(),
            _ => Self::run_failed(error),
        }
    }
}

impl From<ReportError> for Failure {
    fn from(error: ReportError) -> Self {
        match error {
            ReportError::Missing(why) => Self::usage(why),
            ReportError::Files(error) => error.into(),
            ReportError::Tables(error) => error.into(),
            _ => Self::run_failed(error),
        }
    }
}

impl From<CalibrateError> for Failure {
    fn from(error: CalibrateError) -> Self {
        Self::usage(error)
    }
}

impl From<OtherVersion> for Failure {
    fn from(error: OtherVersion) -> Self {
        Self::run_failed(error)
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
