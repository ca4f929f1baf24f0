//! Why a plan cannot be predicted, or a prediction not be kept. No exit code.

use std::fmt::Display;
use std::io;
use std::path::PathBuf;

use inferometer_run::{PlanError, RunError};
use inferometer_store::StoreError;

/// Why there is no prediction.
#[derive(Debug, thiserror::Error)]
pub enum PredictError {
    /// The plan, the engine or what is compared with cannot be predicted as it is.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// What predictions share with runs failed: the workload, the report.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The store cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Requests could not be made or played.
    #[error("{0}")]
    Requests(String),
    /// A file cannot be written.
    #[error("{}: cannot be written: {source}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
}

impl PredictError {
    pub(crate) fn plan(mistake: impl Display) -> Self {
        Self::Plan(PlanError::new(mistake))
    }

    pub(crate) fn requests(why: impl Display) -> Self {
        Self::Requests(why.to_string())
    }
}
