//! The messages between the ranks.

use std::time::Duration;

use inferometer_model::cell::CellPlan;
use inferometer_model::outcome::OutcomeCounts;
use inferometer_model::process::Process;
use inferometer_model::record::Record;
use inferometer_model::time::Nanos;
use inferometer_store::PassBegin;
use serde::{Deserialize, Serialize};

/// The version of the messages in this file. A rank with another version is refused when it joins.
pub(crate) const PROTOCOL: u32 = 2;

/// A process's statement about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Introduction {
    /// Version of the program.
    pub version: String,
    /// Hash of its plan.
    pub plan_hash: String,
    /// Which rank it is, from 0.
    pub rank: u32,
    /// The number of ranks.
    pub ranks: u32,
    /// The name of its machine.
    pub host: String,
}

impl Introduction {
    /// Its name in error messages: its rank and its machine.
    pub fn name(&self) -> String {
        format!("rank {} ({})", self.rank, self.host)
    }
}

/// The first message of a connection, sent by rank 0.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Challenge {
    pub protocol: u32,
    pub nonce: String,
}

/// The member's answer to the challenge.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Hello {
    /// An [`Introduction`] as text, because the proof signs the bytes.
    pub introduction: String,
    pub nonce: String,
    /// A random identity of the process. Rank 0 connects to its own address and recognises itself by this identity.
    pub instance: String,
    pub proof: String,
}

/// Rank 0's answer to a [`Hello`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Welcome {
    /// The process is of this run.
    Joined { proof: String, salt: String },
    /// It is rank 0 itself.
    Itself,
    /// It is not of this run, or too late. `mistake`: it was started in a wrong way.
    Refused { why: String, mistake: bool },
}

/// What the ranks do next; orders are executed one after the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Order {
    /// Rank 0 sends the warm-up of a cell. The other ranks send nothing, but skip the prompts of the warm-up.
    WarmUp {
        /// The cell.
        cell: CellPlan,
    },
    /// A pass is measured.
    Pass {
        /// The pass.
        begin: PassBegin,
        /// The time limit of the pass, if it has one: all ranks end it then.
        most_time: Option<Duration>,
    },
    /// A pass is copied from an earlier run. Nothing is sent; its prompts are skipped and counted in the hash.
    TakenOver {
        /// The pass.
        begin: PassBegin,
    },
    /// The run is over.
    End {
        /// Why it failed, if it did.
        failed: Option<String>,
    },
}

/// The record of a request on its way to rank 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SentRecord {
    /// The record.
    pub record: Record,
    /// The text of the answer, if its tokens are to be counted.
    pub text: Option<String>,
}

/// How a member's clock was compared with that of rank 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClockReport {
    /// By how much the clock of rank 0 was ahead of the member's clock at the end of the pass, in nanoseconds.
    pub offset_ns: i64,
    /// The largest possible error of this pass's times, after conversion to the clock of rank 0, in nanoseconds.
    pub bound_ns: u64,
    /// By how much its clock is slower, in parts per million, and the error bound of that value; None if the run was
    /// too short to estimate it.
    pub drift_ppm: Option<(f64, f64)>,
    /// The shortest round trip so far, in nanoseconds.
    pub round_trip_ns: u64,
}

/// A pass as one rank measured it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PassReport {
    /// The number of requests with each outcome.
    pub outcomes: OutcomeCounts,
    /// The use of its process's resources.
    pub process: Process,
    /// The hash over the bodies of all requests of the pass, if all of them were created.
    pub body_hash: Option<String>,
    /// Whether its user interrupted it.
    pub interrupted: bool,
    /// The comparison of its clock with rank 0's.
    pub clock: ClockReport,
}

/// The progress of a member with its current order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Progress {
    /// It has not taken the order yet.
    Waiting,
    /// It has taken the order and works on it.
    Busy,
    /// It is ready to start the pass.
    Prepared {
        /// The hash over all requests of the run so far.
        workload_hash: String,
        /// The longest round trip since the order, in nanoseconds.
        round_trip_ns: u64,
    },
    /// It has completed the order. After a pass, all its records have also been sent.
    Done(Option<Box<PassReport>>),
}

/// A message of a member. Rank 0 answers each with a [`Down`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Up {
    /// Its progress. It also compares the clocks.
    Ping { order: u64, progress: Progress },
    /// Records of the pass that this order started.
    Records { order: u64, records: Vec<SentRecord> },
    /// It cannot continue.
    Failed { why: String },
}

/// The answer of rank 0.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Down {
    /// What its clock showed when it received the question.
    pub clock: Nanos,
    /// The number of the member's current order. If `what` contains the next order, it is the number of that one.
    pub order: u64,
    /// The next order.
    pub what: Option<Order>,
    /// When the pass of the member's order starts, by the clock of rank 0, once that is known.
    pub start: Option<Nanos>,
    /// Whether the pass must end now.
    pub stop: bool,
}
