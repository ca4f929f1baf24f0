//! The inputs of a run in addition to its plan. They are not part of the measurement: where results are written, how
//! the server is accessed, and what the calling program provides.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use inferometer_http::client::ServerAccess;

use crate::interrupt::Interrupt;
use crate::prompts::EarlierWork;
use crate::resumed_cell::ResumedCell;
use crate::team::Team;

/// The inputs of a run in addition to its plan.
#[derive(Default)]
pub struct Context {
    /// What the calling program provides for a run.
    pub host: Host,
    /// Makes the prompts of this run differ from those of every other run, so that no server has them in its prefix
    /// cache.
    pub salt: String,
    /// Additional headers of each request, with values that may be secrets.
    pub headers: Vec<(String, String)>,
    /// How to connect to a server that the plan does not start: trusted authorities, client certificate,
    /// proxy.
    pub access: ServerAccess,
    /// How long to wait until a server that the plan does not start is ready; absent: no wait.
    pub wait: Option<Duration>,
    /// The file of the store.
    pub store: PathBuf,
    /// The folder for reports; absent: a folder with the run's name in
    /// [`crate::outputs::DEFAULT_FOLDER`].
    pub out: Option<PathBuf>,
    /// Which files are written into the folder.
    pub files: ReportFiles,
    /// Facts to store with the target: which of the servers of a plan it is.
    pub facts: BTreeMap<String, String>,
    /// Cells that an earlier run of this plan has completed, or of which it has trials. These passes are not measured
    /// again.
    pub resumed: Vec<ResumedCell>,
    /// The requests of an earlier run. This run does not begin if its requests would differ from them.
    pub same_work: Option<EarlierWork>,
    /// The role of this process among those that measure the plan together.
    pub team: Team,
    /// A file for a copy of all requests of the run (`--dump-workload`).
    pub dump: Option<PathBuf>,
}

/// Which files of a report are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReportFiles {
    /// Figures, plots, and the report as Markdown and as a page.
    #[default]
    All,
    /// Figures only: as JSON, as CSV and as a table.
    Figures,
}

/// How long a run may take: two estimates; either may be the larger one. Absent if nothing is known.
pub type DurationEstimate = Option<(Duration, Duration)>;

/// Decides whether a run begins; an error is the reason against it.
pub type Confirm = Arc<dyn Fn(DurationEstimate) -> Result<(), String> + Send + Sync>;

/// What the calling program provides for a run.
#[derive(Clone, Default)]
pub struct Host {
    /// The handle that ends the run early.
    pub interrupt: Interrupt,
    /// Called once, before anything is measured; absent: every run begins.
    pub confirm: Option<Confirm>,
    /// The `inferometer` program: it serves the embedded engine and guards servers that a plan starts, each
    /// in a separate process. Absent: the embedded engine is served by a thread of this process, and servers
    /// cannot be started.
    pub program: Option<PathBuf>,
    /// Whether to look for other servers on this machine when the embedded engine is measured, and to tell
    /// the user how to measure them.
    pub find_local_servers: bool,
}
