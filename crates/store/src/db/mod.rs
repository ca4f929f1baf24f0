//! The database: the list of runs, their results, and one row for each request.
//!
//! The database uses SQLite in WAL mode: one process can read while another process writes, and writers
//! wait for each other. This module reads no clock, and removes only the runs that the caller names.

mod open;
mod run_id;

mod run;

mod filter;

mod store;

mod labels;
mod lifecycle;
mod list;
mod read;
mod remove;
mod requests;
mod restore;
mod views;

pub use filter::RunFilter;
pub use labels::Note;
pub use requests::RowFigures;
pub(crate) use requests::RowLimits;
pub use restore::RestoredRun;
pub use run::{GridRow, ImportHeader, LoadsRow, RunHeader, RunKind, RunRow, RunState, StoredRun};
pub use run_id::RunId;
pub use store::Store;
