//! What can go wrong while rows are written. Says what, and leaves where to the caller, who knows
//! the file.

/// Why rows could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The operating system refused.
    #[error("cannot be written: {0}")]
    Io(#[from] std::io::Error),
    /// The Parquet library refused.
    #[error("cannot be written as Parquet: {0}")]
    Parquet(#[from] parquet::errors::ParquetError),
    /// A row does not have the fields that its table has.
    #[error(
        "row {row} does not fit its table: {what}; this is an error in inferometer, please report it"
    )]
    Row {
        /// Which row, from 1.
        row: u64,
        /// What does not fit.
        what: String,
    },
}

impl ExportError {
    /// Whether nobody reads any more what is written: a closed pipe, which is no failure.
    #[must_use]
    pub fn is_closed_pipe(&self) -> bool {
        let closed = |error: &std::io::Error| error.kind() == std::io::ErrorKind::BrokenPipe;
        matches!(self, Self::Io(error) if closed(error))
    }
}
