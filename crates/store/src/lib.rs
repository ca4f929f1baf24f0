//! Where runs are kept: an append-only log of raw records for each run, and SQLite as its index.
//!
//! The log ([`log`]) is the product: every figure can be computed from it again. The database
//! ([`Store`]) knows which runs there are, holds their results and one row for each request, and
//! answers questions in SQL. Both formats are described in `docs/store.md`.
//!
//! No clock is read here and no secret is kept here: times come from the caller, and what the
//! caller does not hand over cannot be stored.

mod error;
pub use inferometer_model::utc;

pub mod log;

mod db;

mod live_note;

pub use db::{
    GridRow, ImportHeader, Note, RunFilter, RunHeader, RunId, RunKind, RunRow, RunState, Store,
    StoredRun,
};
pub use error::StoreError;
pub use live_note::LiveNote;
pub use log::{
    Ending, Entry, LogHeader, LogReader, LogWriter, PassBegin, PassEnd, as_stored, into_stored,
};
