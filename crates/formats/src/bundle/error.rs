//! Errors of reading and writing bundles.

use super::manifest::SCHEMA;

/// Why a bundle cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// The file is not a bundle.
    #[error("is not a bundle of inferometer: {0}")]
    NoBundle(String),
    /// The bundle states this format version, which this program does not support.
    #[error(
        "has the bundle format {0:?}, but this program reads {SCHEMA:?}: use a newer inferometer"
    )]
    Version(String),
    /// The bundle is incomplete: it ends too early, or a part is missing.
    #[error("is incomplete: {0}; copy it again")]
    Cut(String),
    /// The bytes differ from the bytes that were written: a checksum or the compressed stream is wrong.
    #[error("is damaged: {0}; copy it again")]
    Damaged(String),
    /// The file contains something that is not allowed in a bundle, such as a link or an unlisted part.
    #[error("contains something that is not allowed in a bundle: {0}; nothing was imported")]
    Foreign(String),
    /// The unpacked bundle exceeds a limit of size or of the number of parts.
    #[error("is too large: {0}; nothing was imported")]
    TooLarge(String),
    /// The manifest, the checksum list or another document is invalid, or two of them contradict each other.
    #[error("{0}")]
    Content(String),
    /// The output cannot be written, or a part that must be written cannot be read or has changed.
    #[error("its content cannot be written: {0}")]
    Unwritable(std::io::Error),
}
