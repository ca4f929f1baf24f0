//! What is to be exported, and where to.

use std::path::Path;

use inferometer_store::{Note, StoredRun};

/// Which rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum What {
    /// One for each planned request
    Requests,
    /// One for each event of each stream
    Events,
    /// One for each cell and pass, with all its figures
    Cells,
}

/// What is to be written where.
pub struct Job<'a> {
    /// The run.
    pub run: &'a StoredRun,
    /// The notes on it.
    pub notes: &'a [Note],
    /// Its rows, for a format that has rows.
    pub what: What,
    /// The pass, for a format that holds one; all of them if none is named.
    pub pass: Option<u32>,
    /// The file, or folder; if none is named, standard output, or what the format says.
    pub out: Option<&'a Path>,
    /// Receives what was written, and what is missing.
    pub say: &'a dyn Fn(&str),
}
