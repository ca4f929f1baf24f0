//! Errors of exports. The command line maps them to exit codes.

use std::fmt::Display;

use inferometer_run::RunError;
use inferometer_store::StoreError;

use crate::stored::OtherVersion;
use crate::stored_passes::PassesError;

/// Why a run cannot be exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportRunError {
    /// The request does not fit the run, the format or the destination, or the file cannot be created.
    #[error("{0}")]
    Request(String),
    /// Writing failed, or a pass cannot be written in the format.
    #[error("{0}")]
    Write(String),
    /// The log of the run cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The plan of the run cannot be read.
    #[error(transparent)]
    OtherVersion(#[from] OtherVersion),
    /// The report of the run cannot be written.
    #[error(transparent)]
    Report(#[from] RunError),
}

impl ExportRunError {
    pub(crate) fn request(why: impl Display) -> Self {
        Self::Request(why.to_string())
    }

    pub(crate) fn write(why: impl Display) -> Self {
        Self::Write(why.to_string())
    }
}

impl From<PassesError> for ExportRunError {
    fn from(error: PassesError) -> Self {
        match error {
            PassesError::Missing(why) => Self::Request(why),
            PassesError::Store(error) => Self::Store(error),
        }
    }
}
