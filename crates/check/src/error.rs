//! The errors of a check. This module defines no exit codes.

use std::{fmt::Display, io};

use inferometer_run::PlanError;
use inferometer_store::StoreError;

/// Why a check gives no figures.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The operating system rejects socket operations.
    #[error("the check cannot use its sockets: {0}")]
    Sockets(#[source] io::Error),
    /// The plan of the check is invalid.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The records of the check cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A part of the check failed, or the received data differs from the data that was sent.
    #[error("{0}")]
    Part(String),
}

impl CheckError {
    pub(crate) fn new(why: impl Display) -> Self {
        Self::Part(why.to_string())
    }
}
