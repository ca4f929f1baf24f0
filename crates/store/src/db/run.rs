//! What the database says of a run. Values only.

use std::path::PathBuf;

use inferometer_core::plan::Plan;
use inferometer_core::summary::{Environment, Summary, Target};

use super::run_id::RunId;

/// What is known of a run when it begins.
#[derive(Clone, Debug, PartialEq)]
pub struct RunHeader {
    /// The wall time at which it began, in nanoseconds since the Unix epoch.
    pub started_unix_ns: i64,
    /// Random: keeps runs of one second apart.
    pub suffix: u16,
    /// The wall time at the origin of its axis, in nanoseconds since the Unix epoch.
    pub origin_unix_ns: i64,
    /// What it measures. A plan holds no key and no header value.
    pub plan: Plan,
    /// SHA-256 over the canonical requests, where it is known before the run.
    pub workload_hash: Option<String>,
    /// SHA-256 over their bytes, where it is known before the run.
    pub body_hash: Option<String>,
    /// What is measured, as far as it is known.
    pub target: Target,
    /// Where.
    pub environment: Environment,
    /// True when no server is measured.
    pub predicted: bool,
    /// Version of the program.
    pub tool_version: String,
}

/// What is known of an import when it begins.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportHeader {
    /// The wall time at which it is imported, in nanoseconds since the Unix epoch; also the origin
    /// of its axis.
    pub imported_unix_ns: i64,
    /// Random: keeps imports of one second apart.
    pub suffix: u16,
    /// What was measured, as far as the source says so.
    pub target: Target,
    /// Version of the program that imports.
    pub tool_version: String,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunState {
    /// It goes on, or the process that carried it out was killed.
    Running,
    /// The plan was carried out.
    Complete,
    /// It was stopped; what was recorded is kept.
    Interrupted,
    /// It could not be carried out; what was recorded is kept.
    Failed,
}

impl RunState {
    /// Every state.
    pub const ALL: [Self; 4] = [Self::Running, Self::Complete, Self::Interrupted, Self::Failed];

    /// The name in the database and in lists.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Complete => "complete",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
        }
    }
}

/// One line of the list of runs.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRow {
    /// Its identity.
    pub id: RunId,
    /// When it began, RFC 3339, UTC.
    pub started_at: String,
    /// When it ended.
    pub finished_at: Option<String>,
    /// How far it is.
    pub state: RunState,
    /// Engine, such as `vllm`.
    pub engine: Option<String>,
    /// Its version.
    pub engine_version: Option<String>,
    /// The model.
    pub model: String,
    /// True for the embedded engine.
    pub simulated: bool,
    /// True when no server was measured.
    pub predicted: bool,
    /// The file that it was imported from; absent for what this program did.
    pub imported_from: Option<String>,
    /// `valid` or `suspect`; absent until the run has ended.
    pub validity: Option<String>,
    /// Cells of the grid with results.
    pub cells: u32,
}

/// A run with its documents.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredRun {
    /// The line of the list.
    pub row: RunRow,
    /// The wall time at the origin of its axis, in nanoseconds since the Unix epoch.
    pub origin_unix_ns: i64,
    /// Version of the program that made it.
    pub tool_version: String,
    /// The plan's identity.
    pub plan_hash: String,
    /// The resolved plan as JSON, as it was stored. A program of another version may not know
    /// all of it.
    pub plan_json: String,
    /// The server under test as it was known at the last write.
    pub target: Target,
    /// Where it was measured.
    pub environment: Environment,
    /// The results; absent until the run has ended.
    pub summary: Option<Summary>,
    /// The run's log.
    pub log: PathBuf,
}
