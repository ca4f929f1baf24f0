//! The database: which runs there are, their results, and one row for each request.
//!
//! SQLite in WAL mode, so that one process can read while another writes, and writers wait for
//! one another. It reads no clock, and removes only runs that it is told to.

mod open;
mod run;
mod run_id;
mod store;

mod labels;
mod list;
mod remove;
mod requests;

pub use labels::Note;
pub use run::{GridRow, ImportHeader, RunFilter, RunHeader, RunKind, RunRow, RunState, StoredRun};
pub use run_id::RunId;
pub use store::Store;
