//! The content and the destination of an export.

use std::path::Path;

use inferometer_store::{Note, StoredRun};

/// Which rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum ExportedRows {
    /// One row for each planned request
    Requests,
    /// One row for each event of each stream
    Events,
    /// One row for each cell and pass, with all its figures
    Cells,
}

/// The content and the destination of an export.
pub struct Job<'a> {
    /// The run to export.
    pub run: &'a StoredRun,
    /// The notes of the run.
    pub notes: &'a [Note],
    /// The kind of rows, for a format that has rows.
    pub what: ExportedRows,
    /// The number of the pass, from 0, for a format that contains one pass; None for all passes.
    pub pass: Option<u32>,
    /// The file or folder; None for standard output, or for the format's default.
    pub out: Option<&'a Path>,
    /// Receives messages about what was written and what is missing.
    pub say: &'a dyn Fn(&str),
}
