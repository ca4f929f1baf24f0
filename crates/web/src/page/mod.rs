//! The pages of the dashboard, one file for each. (`charts` and `lines` have only parts of pages.) A page is a
//! function from a request target to a response. No page writes to the store.

mod charts;
mod compare;
mod definitions;
mod file;
mod lines;
mod live;
mod records;
mod run;
mod runs;
mod trend;

pub(crate) use compare::compare;
pub(crate) use definitions::definitions;
pub(crate) use file::file;
pub(crate) use live::{event, events, in_progress, live};
pub(crate) use records::records;
pub(crate) use run::run;
pub(crate) use runs::runs;
pub(crate) use trend::trend;
