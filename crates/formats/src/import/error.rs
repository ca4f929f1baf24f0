//! The errors of imports.

/// Why a file of results cannot be imported.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the text says what the fields are")]
pub enum ImportError {
    /// The format of the file is not recognised. `what`: why the format is not recognised, as the end of a sentence:
    /// `is not UTF-8 text (byte 7)`.
    #[error("{file}: {what}; known formats: {known}")]
    Unknown { file: String, what: String, known: String },
    /// The format is recognised, but a part of the file does not conform to it.
    #[error("{file}: cannot be imported as {format}: {what}")]
    Malformed { file: String, format: &'static str, what: String },
}
