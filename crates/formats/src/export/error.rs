//! Errors of exports. A message says what failed. The caller adds the path.

/// Why an export cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The operating system returned an error.
    #[error("cannot be written: {0}")]
    Io(#[from] std::io::Error),
    /// The Parquet library returned an error.
    #[error("cannot be written as Parquet: {0}")]
    Parquet(#[from] parquet::errors::ParquetError),
    /// The values of a row do not match the columns of its table.
    #[error(
        "row {row} does not match its table: {what}; this is a bug in inferometer, please report it"
    )]
    Row {
        /// The number of the row, from 1.
        row: u64,
        /// What does not match.
        what: String,
    },
    /// The run does not contain the data to export; the text says which.
    #[error("{0}")]
    Missing(String),
}

impl ExportError {
    /// Whether the reader of the output closed the pipe. Callers do not treat this as a failure.
    pub fn is_closed_pipe(&self) -> bool {
        let closed = |error: &std::io::Error| error.kind() == std::io::ErrorKind::BrokenPipe;
        matches!(self, Self::Io(error) if closed(error))
    }
}
