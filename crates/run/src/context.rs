//! What a run needs besides its plan, and what is not part of the measurement: where results go,
//! how the server is accessed, and what the calling program provides.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use inferometer_http::client::ServerAccess;
use inferometer_model::cell::CellPlan;
use inferometer_store::LoggedPass;

use crate::interrupt::Interrupt;
use crate::prompts::EarlierWork;
use crate::team::Team;

/// What a run needs besides its plan.
#[derive(Default)]
pub struct Context {
    /// What the calling program does for a run.
    pub host: Host,
    /// Makes the prompts of this run differ from those of every other run, so that no cache has them.
    pub salt: String,
    /// Additional headers of each request, with values that may be secrets.
    pub headers: Vec<(String, String)>,
    /// How a server that runs elsewhere is reached: whom the client trusts, which certificate it
    /// presents, and by which proxy.
    pub access: ServerAccess,
    /// How long to wait for a server that runs elsewhere to become ready; absent: no wait.
    pub wait: Option<Duration>,
    /// The database.
    pub store: PathBuf,
    /// The folder for reports; absent: a folder with the run's name in
    /// [`crate::outputs::DEFAULT_FOLDER`].
    pub out: Option<PathBuf>,
    /// Which files are written there.
    pub files: ReportFiles,
    /// Facts to store with the target: which of the servers of a plan it is.
    pub facts: BTreeMap<String, String>,
    /// Cells that an earlier run of this plan has completed. They are not measured again.
    pub resumed: Vec<(CellPlan, Vec<LoggedPass>)>,
    /// What an earlier run sent: this run does not begin if it would send anything else.
    pub same_work: Option<EarlierWork>,
    /// The role of this process among those that measure the plan together.
    pub team: Team,
    /// A file that gets a copy of the requests as they are sent.
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

/// How long a run may take: two estimates in either order; absent if nothing is known.
pub type DurationEstimate = Option<(Duration, Duration)>;

/// Asks whether a run should begin; an error is the reason against it.
pub type Confirm = Arc<dyn Fn(DurationEstimate) -> Result<(), String> + Send + Sync>;

/// What the calling program does for a run.
#[derive(Clone, Default)]
pub struct Host {
    /// Ends the run early.
    pub interrupt: Interrupt,
    /// Asked once, before anything is measured; absent: every run begins.
    pub confirm: Option<Confirm>,
    /// The `inferometer` program: it serves the embedded engine and guards servers that a plan
    /// starts, each in a process of its own. Absent: the embedded engine is served by a thread of
    /// this process, and servers cannot be started.
    pub program: Option<PathBuf>,
    /// Look for other servers on this machine when the embedded engine is measured, and say how to
    /// measure them.
    pub find_local_servers: bool,
}
