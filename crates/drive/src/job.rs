//! The input of a [`crate::Driver`]: what one pass does, and who receives its records.

use std::time::Duration;

use crate::watch::Watcher;
use inferometer_load::{LoadModel, OverLimit, PassPlan, Share, Stages};
use inferometer_model::record::Record;
use inferometer_model::time::Nanos;
use inferometer_net::Waker;
use inferometer_plan::Timeouts;

use crate::balance::Servers;
use crate::encode::Encoder;

/// One pass: its load, its requests, and its limits.
pub struct Job {
    /// Index of the pass in the run, for its records.
    pub pass: u32,
    /// Decides when requests are due.
    pub load: Box<dyn LoadModel>,
    /// The stages of the load, which classify requests.
    pub stages: Stages,
    /// Supplies the requests as bytes.
    pub encoder: Encoder,
    /// Where to connect.
    pub servers: Servers,
    /// When to give up a request.
    pub timeouts: Timeouts,
    /// How many requests the pass has, if that is known. Requests that are not begun because the
    /// pass is interrupted or the source is exhausted are recorded as skipped.
    pub planned: Option<u32>,
    /// Most requests in flight.
    pub max_in_flight: Option<u32>,
    /// What happens to a request that is due while as many are in flight.
    pub over_limit: OverLimit,
    /// Connections to open before the pass starts.
    pub connections_ahead: usize,
    /// Idle connections to keep open while the pass runs, so that a request finds one.
    pub spare_connections: usize,
    /// Whether a connection may carry one request after the other.
    pub reuse_connections: bool,
    /// Ends the pass early, as soon as this says so: requests in flight are cancelled,
    /// requests not begun are skipped, and all are recorded.
    pub watcher: Option<Watcher>,
    /// Ends the pass in the same way so long after its start, if it goes on until then.
    pub most_time: Option<Duration>,
}

/// Which event loop of a pass takes which of its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Each takes the next one of all.
    NextOfAll,
    /// Each has requests of its own, by their numbers in the pass.
    Own,
    /// Each has conversations of its own; requests are numbered as they begin.
    OwnConversations,
}

impl Order {
    /// That of a pass.
    pub fn of(pass: &PassPlan) -> Self {
        match pass {
            PassPlan::Conversations { .. } => Self::OwnConversations,
            _ if pass.load().is_scheduled() => Self::Own,
            _ => Self::NextOfAll,
        }
    }
}

/// The part of a pass that one of its event loops has.
pub struct LoopPart {
    /// Its part of the process's share.
    pub part: Share,
    /// When its requests are due.
    pub load: Box<dyn LoadModel>,
    /// Connections that it opens before the pass starts.
    pub connections_ahead: usize,
    /// Idle connections that it keeps open while the pass runs.
    pub spare_connections: usize,
    /// Gives it a turn; absent: nothing does.
    pub waker: Option<Waker>,
}

/// Says when a pass starts whose start is agreed with other processes.
pub trait StartGate: Send {
    /// Asked again and again from the instant at which everything is prepared, which `now` is at the
    /// first question: when the pass starts, once that is known.
    fn start(&mut self, now: Nanos) -> Option<Nanos>;
}

/// Receives every planned request once, when it has ended.
pub trait Recorder {
    /// A request that ended, with its output text if the encoder keeps it.
    fn record(&mut self, record: Record, text: Option<String>);

    /// Requests that never begin and differ in their index alone: the first one's record, and how many there
    /// are.
    fn record_never_begun(&mut self, mut record: Record, count: u32) {
        for _ in 0..count {
            let next = Record { index: record.index.wrapping_add(1), ..record.clone() };
            self.record(std::mem::replace(&mut record, next), None);
        }
    }

    /// Whether so many records wait to be written that no request should begin now.
    fn is_behind(&self) -> bool {
        false
    }

    /// Waits until that is over. Called only while no request is in flight.
    fn wait_for_room(&mut self) {}
}
