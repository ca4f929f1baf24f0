//! The run log: one append-only, checksummed file for each run, with all its records.
//!
//! A log is written from beginning to end and never changed. If the writer is killed, the file is readable up
//! to its last complete frame. The reader reports the position of the end of this frame. [`as_stored`]
//! defines the resolution of stored instants; `docs/store.md` describes the bytes.

mod resolution;

mod codes;
mod column;

mod batch;
mod frame;
mod row;

mod passes;
mod reader;
mod writer;

use inferometer_model::{CellPlan, Observed, PassPlan, Process, Record, record::RECORD_VERSION};
use serde::{Deserialize, Serialize};

pub use passes::{LoggedPass, PassItem, PassStream, Passes, passes};
pub use reader::LogReader;
pub use resolution::{TICK_NS, as_stored, into_stored};
pub use writer::{LogWriter, is_being_written};

/// The version of the log's byte format. Earlier versions can be read; later ones are refused.
pub const LOG_VERSION: u32 = 12;

/// The header of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogHeader {
    /// The version of the byte format: [`LOG_VERSION`], or an earlier version if an older program wrote the
    /// log.
    pub format: u32,
    /// The version of the meaning of records: [`RECORD_VERSION`].
    pub record_version: u32,
    /// The run's identity in the store.
    pub run_id: String,
    /// The wall time at the origin of the run's clock, in nanoseconds since the Unix epoch.
    pub origin_unix_ns: i64,
    /// The resolution of stored instants, in nanoseconds.
    pub tick_ns: u64,
}

impl LogHeader {
    /// The header of a log of this program's version.
    pub fn new(run_id: impl Into<String>, origin_unix_ns: i64) -> Self {
        Self {
            format: LOG_VERSION,
            record_version: RECORD_VERSION,
            run_id: run_id.into(),
            origin_unix_ns,
            tick_ns: TICK_NS,
        }
    }
}

/// The beginning of a pass. The entries up to the [`PassEnd`] belong to this pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PassBegin {
    /// Index of the pass in the run, from 0.
    pub pass: u32,
    /// The cell of the grid.
    pub cell: CellPlan,
    /// The load of the pass.
    pub plan: PassPlan,
    /// The number of the repeat of the cell's passes, from 1; it is 1 in logs without this field.
    #[serde(default = "first")]
    pub repeat: u32,
}

impl PassBegin {
    /// The seed of the pass's random choices, derived from the seed of the plan.
    pub fn seed(&self, of_plan: u64) -> u64 {
        self.plan.seed(of_plan, self.cell, self.repeat)
    }
}

fn first() -> u32 {
    1
}

/// The end of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassEnd {
    /// Index of the pass in the run.
    pub pass: u32,
    /// Whether the pass reached its end.
    pub ending: Ending,
    /// The number of records of the pass; the reader compares it with the number that it read.
    pub records: u64,
    /// Resource use of the client's process; absent for imported and predicted passes, and in logs of earlier
    /// versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Process>,
}

/// How a pass or a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The pass or run reached its end, also if requests failed.
    Complete,
    /// The pass or run was stopped before its end.
    Interrupted,
}

/// An entry of a log after its header.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// A pass begins.
    PassBegin(PassBegin),
    /// The record of one request of the pass that began last.
    Record(Box<Record>),
    /// Samples of the server and of the cards during the pass that began last; a long pass has
    /// several of these entries.
    Observed(Box<Observed>),
    /// The pass ended.
    PassEnd(PassEnd),
    /// The run ended; nothing follows.
    RunEnd(Ending),
}
