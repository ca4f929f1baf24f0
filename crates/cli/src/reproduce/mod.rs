//! The run of a bundle measured again here, and what came out: the same, slower or faster by so much, or
//! not decided, with the facts that differ. The comparison is that of [`crate::compare`].

mod again;
mod answer;
mod data;
mod facts;
mod here;

use inferometer_run::PlanError;

pub use again::{Again, again};
pub use answer::{NewRun, Reproduced, reproduced};
pub use here::Here;

use crate::bundle::BundleRunError;

/// Why a bundle cannot be measured again.
#[derive(Debug, thiserror::Error)]
pub enum ReproduceError {
    /// What it holds cannot be measured again, or not as it was asked for.
    #[error("{0}")]
    Refused(String),
    /// Its plan cannot be resolved here.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// It cannot be read, or data of it cannot be kept.
    #[error(transparent)]
    Bundle(#[from] BundleRunError),
}

impl ReproduceError {
    fn refused(why: impl Into<String>) -> Self {
        Self::Refused(why.into())
    }
}
