//! The pages, one file each. A page turns a request target into a response; no page writes anything.

mod charts;
mod compare;
mod definitions;
mod file;
mod lines;
mod live;
mod records;
mod run;
mod runs;

pub(crate) use compare::compare;
pub(crate) use definitions::definitions;
pub(crate) use file::file;
pub(crate) use live::{event, events, in_progress, live};
pub(crate) use records::records;
pub(crate) use run::run;
pub(crate) use runs::runs;
