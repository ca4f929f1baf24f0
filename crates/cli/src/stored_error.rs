//! Errors of everything that is made of a stored run: reports, exports and tables. The command line maps them to exit
//! codes.

use std::fmt::Display;

use inferometer_formats::export::ExportError;
use inferometer_run::RunError;
use inferometer_store::StoreError;

use crate::stored::OtherVersion;

/// Why something cannot be made of a stored run.
#[derive(Debug, thiserror::Error)]
pub enum StoredRunError {
    /// The run does not have the requested data, the request does not fit the format or the destination, or the file
    /// cannot be created.
    #[error("{0}")]
    Refused(String),
    /// Writing failed, or a pass cannot be written in the format.
    #[error("{0}")]
    Write(String),
    /// A row or a document cannot be written. The error does not name the file.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// The log of the run cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The plan of the run cannot be read.
    #[error(transparent)]
    OtherVersion(#[from] OtherVersion),
    /// The files of the report cannot be written.
    #[error(transparent)]
    Report(#[from] RunError),
}

impl StoredRunError {
    pub(crate) fn refused(why: impl Display) -> Self {
        Self::Refused(why.to_string())
    }

    pub(crate) fn write(why: impl Display) -> Self {
        Self::Write(why.to_string())
    }
}
