//! Why a file is no bundle, or not a whole one.

use super::manifest::SCHEMA;

/// Why a bundle cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// It is another kind of file.
    #[error("is not a bundle of inferometer: {0}")]
    NoBundle(String),
    /// It is of a version that this program does not know.
    #[error(
        "has the bundle format {0:?}, but this program reads {SCHEMA:?}: use a newer inferometer"
    )]
    Version(String),
    /// It ends before it is whole.
    #[error("was cut: {0}; copy it again")]
    Cut(String),
    /// Its bytes are not those that were written.
    #[error("is damaged: {0}; copy it again")]
    Damaged(String),
    /// A part of it has no business in a bundle.
    #[error("has an unknown part: {0}; nothing of it was used")]
    Foreign(String),
    /// It is larger, unpacked, than a file of its size can be.
    #[error("is too large: {0}; nothing of it was used")]
    TooLarge(String),
    /// What it says of itself does not fit together.
    #[error("{0}")]
    Content(String),
    /// A part that is to be written into it cannot be read, or it cannot be written.
    #[error("cannot be written: {0}")]
    Unwritable(std::io::Error),
}
