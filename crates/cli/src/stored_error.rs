//! Errors of everything that reads or makes stored runs: reports, exports, tables, bundles and imports. The command line
//! maps them to exit codes.

use std::{fmt::Display, io, path::Path};

use inferometer_formats::export::ExportError;
use inferometer_run::{PlanError, RunError};
use inferometer_store::StoreError;

/// Why something cannot be made of a stored run, or why a run cannot be stored.
#[derive(Debug, thiserror::Error)]
pub enum StoredRunError {
    /// The run does not have the requested data, the request does not fit the run, the format or the destination, the
    /// file cannot be created, or a bundle is not valid.
    #[error("{0}")]
    Refused(String),
    /// The plan of the run cannot be resolved here, or files cannot be imported.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A file cannot be read or written, or a pass cannot be written in the format.
    #[error("{0}")]
    Write(String),
    /// A row or a document cannot be written. The error does not name the file.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// The store or the log of the run cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The plan of the run cannot be read, because an incompatible version of this program wrote it.
    #[error("run {run}: its plan was written by an incompatible version of this program: {source}")]
    OtherVersion {
        /// The id of the run.
        run: String,
        /// The error of the parser.
        source: serde_json::Error,
    },
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

    /// The error of a file that cannot be read or written.
    pub(crate) fn of_file(path: &Path) -> impl Fn(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |error| Self::write(format!("{}: {error}", path.display()))
    }
}
