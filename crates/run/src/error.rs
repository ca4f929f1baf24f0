//! The errors of plans and of runs, and the shortfalls of finished runs. They contain no exit codes: the
//! program maps errors to exit codes.

use std::path::{Path, PathBuf};
use std::{fmt::Display, io};

use inferometer_cluster::Rank0Lost;
use inferometer_engine::EngineError;
use inferometer_model::Secrets;
use inferometer_report::ReportError;
use inferometer_servers::{launch::LaunchError, observe::ObserveError};
use inferometer_store::{RunId, StoreError};

use crate::TargetError;

/// A plan that cannot be measured as written, or another input that cannot be used. Nothing was measured.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, derive_more::From)]
#[error("{}", mistakes.join("; "))]
pub struct PlanError {
    /// Every mistake. A mistake in a key of the plan names the key, its flag, or both.
    pub mistakes: Vec<String>,
}

impl PlanError {
    /// An error with one mistake.
    pub fn new(mistake: impl Display) -> Self {
        Self { mistakes: vec![mistake.to_string()] }
    }

    /// The same mistakes without secrets.
    #[must_use]
    pub(crate) fn redacted(self, secrets: &Secrets) -> Self {
        let redacted = |mistake: &String| secrets.redact(mistake).into_owned();
        Self { mistakes: self.mistakes.iter().map(redacted).collect() }
    }

    /// The same mistakes, each with the name of its server; unchanged if the name is empty.
    #[must_use]
    pub fn of(self, server: &str) -> Self {
        let named = |mistake: String| match server {
            "" => mistake,
            name => format!("{name}: {mistake}"),
        };
        Self { mistakes: self.mistakes.into_iter().map(named).collect() }
    }
}

/// Why a run or a prediction could not be carried out, or why its results are not sufficient. Records from before an
/// error stay in the store.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the text says what the fields are")]
pub enum RunError {
    /// The plan cannot be measured or predicted. Nothing was measured.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The operating system refuses sockets or threads of the load generator, or can no longer wait for
    /// sockets.
    #[error("the load generator cannot use its sockets or threads: {0}")]
    Sockets(#[source] io::Error),
    /// The operating system refuses a thread.
    #[error("{0}")]
    Thread(#[source] io::Error),
    /// The store or the log of the run cannot be written or read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The server that the plan starts could not be started, or did not become ready.
    #[error(transparent)]
    Launch(LaunchError),
    /// The embedded engine does not listen.
    #[error("embedded engine: {0}")]
    EmbeddedEngine(#[from] EngineStartError),
    /// The server cannot be reached or started, its API is unknown, or it lacks something that the plan
    /// requests, such as metrics.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The server's metrics or cards that the plan requests cannot be observed.
    #[error("{key}: {source}")]
    Observe { key: &'static str, source: ObserveError },
    /// The requests of a pass cannot be generated or simulated.
    #[error("{0}")]
    Prompts(String),
    /// A file other than the store cannot be written.
    #[error("{}: cannot be written: {source}", path.display())]
    Unwritable { path: PathBuf, source: io::Error },
    /// The file of `--dump-workload` cannot be written.
    #[error("dump_workload (--dump-workload): {}: {source}", path.display())]
    Dump { path: PathBuf, source: io::Error },
    /// A plot of the report cannot be drawn.
    #[error(transparent)]
    Plot(#[from] ReportError),
    /// The user, or the calling program, decided against the run: see [`crate::Host::confirm`].
    #[error("{0}")]
    Refused(String),
    /// This process is a rank of a run, and rank 0 is lost.
    #[error(transparent)]
    Rank0Lost(#[from] Rank0Lost),
    /// This process is a rank of a run that failed at rank 0, for this reason.
    #[error("the run failed at rank 0: {0}")]
    FailedAtRank0(String),
    /// Interrupted before anything was measured.
    #[error("interrupted before {0}")]
    Interrupted(&'static str),
    /// The run stopped before its end. Its results until then are in `place` and in the store. `place`: the folder of
    /// the report. If the report cannot be written, the log of the run.
    #[error("{why}; the results until then are in {}", place.display())]
    BrokenOff { why: String, place: PathBuf },
    /// The run is stored, but its report cannot be written.
    #[error(
        "{}run {run} is stored in {}, but its report cannot be written: {source}; write it with: \
            inferometer report {run} --store '{}' --out FOLDER",
        broken.as_ref().map_or_else(String::new, |why| format!("{why}; ")),
        store.display(),
        store.display()
    )]
    Report { run: String, store: PathBuf, broken: Option<String>, source: Box<RunError> },
    /// The run was carried out, but its results fall short of the requirements.
    #[error(transparent)]
    Shortfall(#[from] Shortfall),
    /// An error of one of several servers.
    #[error("{name}: {source}")]
    OfServer { name: String, source: Box<RunError> },
}

impl RunError {
    /// The error of a plan with one mistake.
    pub fn plan(mistake: impl Display) -> Self {
        Self::Plan(PlanError::new(mistake))
    }

    pub(crate) fn observe(key: &'static str) -> impl Fn(ObserveError) -> Self {
        move |source| Self::Observe { key, source }
    }

    pub(crate) fn prompts(why: impl Display) -> Self {
        Self::Prompts(why.to_string())
    }

    /// The error of a file that cannot be written.
    pub fn unwritable(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Unwritable { path, source }
    }

    pub(crate) fn report(run: &RunId, store: &Path, source: Self, broken: Option<String>) -> Self {
        let (run, store, source) = (run.to_string(), store.to_owned(), Box::new(source));
        Self::Report { run, store, broken, source }
    }

    /// The same error, with the name of its server; unchanged if the name is empty.
    #[must_use]
    pub fn of(self, server: &str) -> Self {
        match (self, server) {
            (error, "") => error,
            (Self::Plan(error), name) => Self::Plan(error.of(name)),
            (error, name) => Self::OfServer { name: name.to_owned(), source: Box::new(error) },
        }
    }
}

/// Why the embedded engine does not listen.
#[derive(Debug, thiserror::Error)]
pub enum EngineStartError {
    /// The engine or its texts cannot be made.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The operating system refuses a socket.
    #[error(transparent)]
    System(#[from] io::Error),
}

/// Why the results of a finished run are not sufficient.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Shortfall {
    /// The user interrupted the run.
    #[error("{0}")]
    Interrupted(String),
    /// The server died, too many requests failed, or there is no usable answer or comparison.
    #[error("{0}")]
    Failed(String),
    /// An objective was not met, or requests arrived faster than they ended.
    #[error("{0}")]
    Objective(String),
    /// The verdict of the run is `suspect`, and the caller judges strictly.
    #[error("{0}")]
    Suspect(String),
    /// An objective or the answer of a search is undecided, and the caller judges strictly.
    #[error("{0}")]
    Undecided(String),
}
