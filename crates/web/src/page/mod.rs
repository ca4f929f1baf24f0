//! The pages, one file each: what was asked in, an answer out. None writes anything.

mod compare;
mod definitions;
mod files;
mod lines;
mod live;
mod pictures;
mod records;
mod reports;
mod run;
mod runs;

pub(crate) use compare::compare;
pub(crate) use definitions::definitions;
pub(crate) use files::file;
pub(crate) use live::{Followed, events, in_progress, live, live_event};
pub(crate) use records::records;
pub(crate) use reports::Reports;
pub(crate) use run::run;
pub(crate) use runs::runs;
