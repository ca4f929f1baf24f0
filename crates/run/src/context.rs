//! Everything that a run needs besides its plan: salt, headers, how the server is accessed, where results are written,
//! and what the calling program provides.

use std::{path::PathBuf, sync::Arc, time::Duration};

use inferometer_model::target::Origin;
use inferometer_net::http::client::ServerAccess;
use inferometer_report::PlotFiles;

use crate::{EarlierWork, Interrupt, ResumedCell, Team};

/// Everything that a run needs besides its plan.
#[derive(Default)]
pub struct Context {
    /// What the calling program provides for a run.
    pub host: Host,
    /// Makes the prompts of this run differ from those of runs with another salt, so that no server has them in its
    /// prefix cache. Prompts that a data set contains in full do not depend on the salt.
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
    /// [`crate::results::outputs::DEFAULT_FOLDER`].
    pub out: Option<PathBuf>,
    /// The form and the colours of the plots in the folder.
    pub plots: PlotFiles,
    /// Which files are written into the folder.
    pub files: ReportFiles,
    /// Why the run is made: as a part of which group or comparison, and after which run.
    pub origin: Origin,
    /// Cells of an earlier, incomplete run of this plan. For a search or a sweep, an incomplete cell is included if it
    /// has trials. The passes of these cells are copied into this run, and are not measured again.
    pub resumed: Vec<ResumedCell>,
    /// The requests of an earlier run. If the requests of this run would differ from them, this run does not begin.
    pub same_work: Option<EarlierWork>,
    /// The role of this process among those that measure the plan together.
    pub team: Team,
    /// A file for a copy of all requests of the run (`--dump-workload`).
    pub dump: Option<PathBuf>,
}

/// Which files of a report are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReportFiles {
    /// Figures, plots, and the report as Markdown and as an HTML page.
    #[default]
    All,
    /// Only figures: as JSON, as CSV and as a table.
    Figures,
}

/// Two estimates of the duration of a run. The first assumes that the server batches without limit, and the minimum
/// number of repeats. The second assumes that the server does not batch, and the maximum number of repeats. Either may
/// be larger. They are equal if the duration does not depend on these assumptions, as for the embedded engine. `None`
/// if the duration cannot be estimated.
pub type DurationEstimate = Option<(Duration, Duration)>;

/// Decides from the estimated duration whether a run begins. An error states why the run must not begin.
pub type Confirm = Arc<dyn Fn(DurationEstimate) -> Result<(), String> + Send + Sync>;

/// What the calling program provides for a run.
#[derive(Clone, Default)]
pub struct Host {
    /// The handle that ends the run early.
    pub interrupt: Interrupt,
    /// Called once, before anything is measured; absent: every run begins.
    pub confirm: Option<Confirm>,
    /// The path of the `inferometer` program. The run starts this program to serve the embedded engine, and to start
    /// and end the server of a plan, each in a separate process. Absent: a thread of this process serves the embedded
    /// engine, and a run whose plan starts a server is refused.
    pub program: Option<PathBuf>,
    /// Whether to look for other servers on this machine when the embedded engine is measured, and to tell
    /// the user how to measure them.
    pub find_local_servers: bool,
}
