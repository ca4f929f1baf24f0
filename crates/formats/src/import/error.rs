//! Errors of imports.

/// Why the results of a file cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The format is not recognised.
    #[error("{file}: {what}; known are {known}")]
    Unknown {
        /// The file.
        file: String,
        /// What was found.
        what: String,
        /// The formats that are recognised.
        known: String,
    },
    /// The format is recognised, and a part of the file does not follow it.
    #[error("{file}: as {format}: {what}")]
    Malformed {
        /// The file.
        file: String,
        /// The format.
        format: &'static str,
        /// What is wrong, and where.
        what: String,
    },
}
