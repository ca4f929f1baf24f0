//! The reasons why a page cannot be shown, and the HTTP status for each of them.

use inferometer_store::StoreError;

/// Why a page cannot be shown.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PageError {
    /// There is no such page or file.
    #[error("{0}")]
    NotFound(String),
    /// The request cannot be answered as it is, for example because the query has an invalid value.
    #[error("{0}")]
    BadQuery(String),
    /// A thread is still making this report or another one.
    #[error(
        "the records of a run are being read: the page reloads by itself until it can be shown"
    )]
    NotReady,
    /// The page could not be created.
    #[error("{0}")]
    Failed(String),
    /// The store or a log cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl PageError {
    /// The HTTP status of the response for this error.
    pub(crate) fn status(&self) -> u16 {
        match self {
            Self::NotFound(_)
            | Self::Store(
                StoreError::NoSuchRun { .. }
                | StoreError::NoneOfItsKind { .. }
                | StoreError::AmbiguousRun { .. },
            ) => 404,
            Self::BadQuery(_) => 400,
            Self::NotReady => 503,
            Self::Store(_) | Self::Failed(_) => 500,
        }
    }
}
