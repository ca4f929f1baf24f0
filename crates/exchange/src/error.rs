//! What can be wrong with a file of results.

/// Why a file's results cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum ExchangeError {
    /// It is in no form that is known.
    #[error("{file}: {what}; known are {known}")]
    Unknown {
        /// The file.
        file: String,
        /// What was found.
        what: String,
        /// The forms that are known.
        known: String,
    },
    /// It is in a known form, and a part of it is not as the form has it.
    #[error("{file}: as {format}: {what}")]
    Malformed {
        /// The file.
        file: String,
        /// The form.
        format: &'static str,
        /// What is wrong, and where.
        what: String,
    },
    /// What was asked for is not there to be exported.
    #[error("{0}")]
    NotThere(String),
}
