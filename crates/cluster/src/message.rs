//! What ranks say to each other.

use std::time::Duration;

use inferometer_model::cell::CellPlan;
use inferometer_model::outcome::OutcomeCounts;
use inferometer_model::process::Process;
use inferometer_model::record::Record;
use inferometer_model::time::Nanos;
use inferometer_store::PassBegin;
use serde::{Deserialize, Serialize};

/// The version of what stands in this file. Ranks of other versions are refused before it matters.
pub(crate) const PROTOCOL: u32 = 2;

/// Who a process says that it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Introduction {
    /// Version of the program.
    pub version: String,
    /// Hash of its plan.
    pub plan_hash: String,
    /// Which rank it is, from 0.
    pub rank: u32,
    /// How many there are.
    pub ranks: u32,
    /// The name of its machine.
    pub host: String,
}

impl Introduction {
    /// How it is called in messages: its rank and its machine.
    pub fn name(&self) -> String {
        format!("rank {} ({})", self.rank, self.host)
    }
}

/// The first message of a connection, by rank 0.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Challenge {
    pub protocol: u32,
    pub nonce: String,
}

/// The answer to it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Hello {
    /// An [`Introduction`] as text: what is signed are its bytes.
    pub introduction: String,
    pub nonce: String,
    /// A random identity of the process. Rank 0 connects to its own address, and recognises itself by it.
    pub instance: String,
    pub proof: String,
}

/// What rank 0 says to that.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Welcome {
    /// The process is of this run.
    Joined { proof: String, salt: String },
    /// It is rank 0 itself.
    Itself,
    /// It is not of this run, or too late. `mistake`: it was started in a wrong way.
    Refused { why: String, mistake: bool },
}

/// What ranks are to do, one after the other.
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
pub struct Sent {
    /// The record.
    pub record: Record,
    /// The text of the answer, where it is to be counted.
    pub text: Option<String>,
}

/// How a member's clock was compared with that of rank 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClockReport {
    /// By how much the clock of rank 0 was ahead of the member's clock at the end of the pass, in nanoseconds.
    pub offset_ns: i64,
    /// The largest possible error of this pass's times, after conversion to the clock of rank 0, in nanoseconds.
    pub bound_ns: u64,
    /// By how much its clock is slower, in millionths, and the most by which that is wrong; absent where the
    /// run was too short to tell.
    pub drift_ppm: Option<(f64, f64)>,
    /// The least round trip so far, in nanoseconds.
    pub round_trip_ns: u64,
}

/// A pass as one rank measured it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PassReport {
    /// What became of its requests.
    pub outcomes: OutcomeCounts,
    /// Its process.
    pub process: Process,
    /// The hash over the bodies of all requests of the pass, where all of them were made.
    pub body_hash: Option<String>,
    /// Whether its user interrupted it.
    pub interrupted: bool,
    /// Its clock.
    pub clock: ClockReport,
}

/// How far a member is with the order that it has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Progress {
    /// It has yet to begin: it makes itself ready, or does something else.
    Waiting,
    /// It works on it.
    Busy,
    /// A pass can start.
    Prepared {
        /// The hash over all requests of the run so far.
        workload_hash: String,
        /// The longest round trip since the order, in nanoseconds.
        round_trip_ns: u64,
    },
    /// It is done with it. After a pass, this also means that all its records were sent.
    Done(Option<Box<PassReport>>),
}

/// What a member says. Each is answered by a [`Down`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Up {
    /// It is there.
    Ping { order: u64, progress: Progress },
    /// Records of the pass of its order.
    Records { order: u64, records: Vec<Sent> },
    /// It cannot go on.
    Failed { why: String },
}

/// What rank 0 answers.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Down {
    /// What its clock showed when it had the question.
    pub clock: Nanos,
    /// The number of the member's current order. If `what` contains the next order, it is the number of that one.
    pub order: u64,
    /// The next order.
    pub what: Option<Order>,
    /// When the pass of the member's order starts, by the clock of rank 0, once that is known.
    pub start: Option<Nanos>,
    /// The pass is to end now.
    pub stop: bool,
}
