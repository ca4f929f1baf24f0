//! Errors of predictions. They do not define exit codes.

use std::fmt::Display;
use std::io;
use std::path::PathBuf;

use inferometer_run::{PlanError, RunError};
use inferometer_store::StoreError;

/// Why a prediction failed.
#[derive(Debug, thiserror::Error)]
pub enum PredictError {
    /// The plan or the settings of the engine cannot be predicted, or the measurements cannot be compared with a
    /// prediction.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A part that predictions share with runs failed, such as the workload or the report.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The store cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Requests could not be created or simulated.
    #[error("{0}")]
    Requests(String),
    /// A file cannot be written.
    #[error("{}: cannot be written: {source}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
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
