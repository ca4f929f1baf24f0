//! The plan of a stored run.

use inferometer_plan::Plan;
use inferometer_store::StoredRun;

/// The plan of a stored run is of another version of this program, and cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("run {run}: its plan is of another version of this program: {source}")]
pub struct OtherVersion {
    /// The run.
    pub run: String,
    /// What does not fit.
    pub source: serde_json::Error,
}

/// The plan that a stored run has measured.
///
/// # Errors
/// When it is of another version of this program, or the run was imported and has none.
pub fn plan_of(run: &StoredRun) -> Result<Plan, OtherVersion> {
    serde_json::from_str(&run.plan_json)
        .map_err(|source| OtherVersion { run: run.row.id.to_string(), source })
}
