//! Resolves the plans of a bundle's runs again, and compares new runs with them; the caller measures. The result states
//! whether the new figures are identical, the same within an interval, slower, faster, or both, or whether the result
//! is undecided or has no interval. It also states which facts differ. [`crate::compare`] does the comparison.

mod again;
mod answer;
mod data;
mod facts;
mod here;

pub use again::{RepeatedRun, again};
pub use answer::{NewRun, Reproduced, reproduced};
pub use here::LocalSetup;
