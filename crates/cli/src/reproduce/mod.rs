//! Resolves the plans of a bundle's runs again, and compares new runs with them; the caller measures. The result states
//! whether the new figures are identical, the same within an interval, slower, faster, or both, or whether the result
//! is undecided or has no interval. It also states which facts differ. [`crate::compare`] does the comparison.

mod again;
mod answer;
mod data;
mod facts;
mod here;

use inferometer_run::PlanError;

pub use again::{RepeatedRun, again};
pub use answer::{NewRun, Reproduced, reproduced};
pub use here::LocalSetup;

use crate::bundle::BundleRunError;

/// Why a bundle cannot be measured again.
#[derive(Debug, thiserror::Error)]
pub enum ReproduceError {
    /// The run cannot be measured again, or not as requested.
    #[error("{0}")]
    Refused(String),
    /// The plan of the run cannot be resolved here.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The bundle cannot be read, or its data cannot be stored.
    #[error(transparent)]
    Bundle(#[from] BundleRunError),
}

impl ReproduceError {
    fn refused(why: impl Into<String>) -> Self {
        Self::Refused(why.into())
    }
}
