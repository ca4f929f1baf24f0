//! The errors of imports.

/// Why a file of results cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The format of the file is not recognised.
    #[error("{file}: {what}; known formats: {known}")]
    Unknown {
        /// The file's name without its folder.
        file: String,
        /// Why the format is not recognised, as the end of a sentence: `is not UTF-8 text (byte 7)`.
        what: String,
        /// The names of the formats that can be recognised.
        known: String,
    },
    /// The format is recognised, but a part of the file does not conform to it.
    #[error("{file}: cannot be imported as {format}: {what}")]
    Malformed {
        /// The file's name without its folder.
        file: String,
        /// The name of the recognised format.
        format: &'static str,
        /// What does not conform, and where in the file.
        what: String,
    },
}
