//! The messages between the ranks.

use std::time::Duration;

use inferometer_model::{CellPlan, Nanos, OutcomeCounts, Process, Record};
use inferometer_store::PassBegin;
use serde::{Deserialize, Serialize};

/// The version of the messages in this file. A rank with another version cannot join.
pub(crate) const PROTOCOL: u32 = 2;

/// The introduction of a process that wants to join.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Introduction {
    /// The version of the program.
    pub version: String,
    /// The hash of the process's plan.
    pub plan_hash: String,
    /// The rank of the process, from 0.
    pub rank: u32,
    /// The number of ranks.
    pub ranks: u32,
    /// The name of the process's machine.
    pub host: String,
}

impl Introduction {
    /// The name of the process in messages: its rank and its machine.
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
    /// An [`Introduction`] as JSON text, because the proof covers its bytes.
    pub introduction: String,
    pub nonce: String,
    /// A random identity of the process. Rank 0 connects to its own address and recognises itself by this identity.
    pub instance: String,
    pub proof: String,
}

/// Rank 0's answer to a [`Hello`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Welcome {
    /// The process has joined the run.
    Joined { proof: String, salt: String },
    /// Rank 0 has connected to itself.
    Itself,
    /// Rank 0 refuses the process for the reason `why`. `mistake` is false if the process does not have the token of
    /// the run, and true for all other reasons.
    Refused { why: String, mistake: bool },
}

/// The next task of all ranks. Orders are executed one after the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Order {
    /// Rank 0 sends the warm-up of a cell. The other ranks send nothing, but skip the prompts of the warm-up.
    WarmUp {
        /// The cell.
        cell: CellPlan,
    },
    /// All ranks measure a pass.
    Pass {
        /// The pass.
        begin: PassBegin,
        /// The time limit of the pass, at which all ranks end it; None without a limit.
        most_time: Option<Duration>,
    },
    /// A pass is copied from an earlier run. No request is sent; the prompts of the pass are skipped and included in
    /// the workload hash.
    TakenOver {
        /// The pass.
        begin: PassBegin,
    },
    /// The run is over.
    End {
        /// Why the run failed; None if it did not.
        failed: Option<String>,
    },
}

/// The record of a request, as a member sends it to rank 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SentRecord {
    /// The record.
    pub record: Record,
    /// The text of the answer. None if rank 0 does not need the text: its tokens need not be counted, and the request
    /// is not a turn of a conversation.
    pub text: Option<String>,
}

/// The result of comparing a member's clock with that of rank 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClockReport {
    /// The time by which the clock of rank 0 was ahead of the member's clock at the end of the pass, in nanoseconds.
    /// Negative if the clock of rank 0 was behind.
    pub offset_ns: i64,
    /// The largest possible error of the instants of this pass, after conversion to the clock of rank 0, in
    /// nanoseconds.
    pub bound_ns: u64,
    /// By how much the member's clock is slower than that of rank 0, in parts per million, and the error bound of this
    /// value. None if the run was too short for an estimate.
    pub drift_ppm: Option<(f64, f64)>,
    /// The shortest round trip so far, in nanoseconds.
    pub round_trip_ns: u64,
}

/// The report of one rank on a pass.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PassReport {
    /// The number of the rank's requests with each outcome.
    pub outcomes: OutcomeCounts,
    /// The processor time and the delays of the rank's process.
    pub process: Process,
    /// The hash over the bodies of all requests of the pass; None if not all bodies were created.
    pub body_hash: Option<String>,
    /// Whether the user of this rank interrupted the pass.
    pub interrupted: bool,
    /// The comparison of the rank's clock with that of rank 0.
    pub clock: ClockReport,
}

/// The progress of a member with its current order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Progress {
    /// The member has not taken the order yet.
    Waiting,
    /// The member has taken the order and works on it.
    Busy,
    /// The member is ready to start the pass.
    Prepared {
        /// The hash over all requests of the run so far.
        workload_hash: String,
        /// The longest round trip since the member received the order, in nanoseconds.
        round_trip_ns: u64,
    },
    /// The member has completed the order. After a pass, it has also sent all records.
    Done(Option<Box<PassReport>>),
}

/// A message of a member. Rank 0 answers each message with a [`Down`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Up {
    /// The progress of the member. The message and its answer are also used to compare the clocks.
    Ping { order: u64, progress: Progress },
    /// Records of the pass of this order.
    Records { order: u64, records: Vec<SentRecord> },
    /// The member cannot continue.
    Failed { why: String },
}

/// The answer of rank 0 to a message.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Down {
    /// The time of rank 0's clock when it received the message.
    pub clock: Nanos,
    /// The number of the order in `what`; if `what` is None, the number of the member's current order.
    pub order: u64,
    /// The next order; None if there is none yet, or if the member still works on its current order.
    pub what: Option<Order>,
    /// When the pass of the member's order starts, by the clock of rank 0; None if it is not known yet.
    pub start: Option<Nanos>,
    /// Whether the pass must end now.
    pub stop: bool,
}
