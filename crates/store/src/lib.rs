//! Stores runs: an append-only log of raw records for each run, and SQLite as its index.
//!
//! The log ([`log`]) is the primary data: every figure can be computed from it again. The database
//! ([`Store`]) has the list of runs, their results, and one row for each request, for queries in SQL. A run
//! is written through [`RunRecording`], and [`passes`] reads its log. `docs/store.md` describes both
//! formats.
//!
//! This crate reads no clock: the caller passes in all times. It stores only values that the caller passes
//! in, and the caller passes in no secrets.

mod error;
pub use inferometer_model::calendar;

pub mod log;

mod db;

mod live_note;

mod recording;

pub use db::{
    GridRow, ImportHeader, LoadsRow, Note, RestoredRun, RowFigures, RunFilter, RunHeader, RunId,
    RunKind, RunRow, RunState, Store, StoredRun,
};
pub use error::{StoreError, Unstorable};
pub use live_note::LiveNote;
pub use log::{
    Ending, Entry, LogHeader, LogReader, LogWriter, LoggedPass, PassBegin, PassEnd, PassItem,
    PassStream, Passes, as_stored, into_stored, passes,
};
pub use recording::RunRecording;
