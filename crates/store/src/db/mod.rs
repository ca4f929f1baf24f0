//! The database: which runs there are, their results, and one row for each request.
//!
//! SQLite in WAL mode, so that one process can read while another writes, and writers wait for
//! one another. It reads no clock and never deletes.

mod open;
mod requests;
mod run;
mod run_id;
mod store;

pub use run::{ImportHeader, RunHeader, RunRow, RunState, StoredRun};
pub use run_id::RunId;
pub use store::Store;
