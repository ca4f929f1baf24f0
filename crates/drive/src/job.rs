//! The input of a [`crate::Driver`]: what one pass does, and who receives its records.

use std::time::Duration;

use crate::{Encoder, Servers, Watcher};
use inferometer_model::load::{Leavers, LoadModel, Share, Stages};
use inferometer_model::{Nanos, OverLimit, PassPlan, Record};
use inferometer_net::Waker;
use inferometer_plan::Timeouts;

/// One pass: its load, its requests, and its limits.
pub struct Job {
    /// Index of the pass in the run, for its records.
    pub pass: u32,
    /// Determines when requests are due.
    pub load: Box<dyn LoadModel>,
    /// The stages of the load, which classify requests.
    pub stages: Stages,
    /// Supplies the requests as bytes.
    pub encoder: Encoder,
    /// The servers to connect to.
    pub servers: Servers,
    /// The timeouts of a request.
    pub timeouts: Timeouts,
    /// The clients that leave before their answers are complete; `None` if all stay.
    pub leavers: Option<Leavers>,
    /// The number of requests of the pass, or of the share of this process, if it is known. Requests that are never
    /// begun, because the pass ends early or the source has no more requests, are recorded as skipped.
    pub planned: Option<u32>,
    /// The limit of requests in flight; `None` for no limit.
    pub max_in_flight: Option<u32>,
    /// What happens to a request that is due while the limit is reached.
    pub over_limit: OverLimit,
    /// The limit of requests that have begun and have no token yet; `None` for no limit. A request that is due while
    /// it is reached waits, so it does not go with [`OverLimit::Drop`].
    pub max_in_prefill: Option<u32>,
    /// The number of connections to open before the pass starts.
    pub connections_ahead: usize,
    /// The number of idle connections to keep open while the pass runs, so that requests need not open connections.
    pub spare_connections: usize,
    /// Whether a connection may be used for several requests, one after the other.
    pub reuse_connections: bool,
    /// When the watcher returns a reason, the pass ends early: requests in flight are cancelled, requests that were
    /// not begun are skipped, and all of them are recorded.
    pub watcher: Option<Watcher>,
    /// The time limit of the pass, measured from its start. At this limit, the pass ends as if the watcher had returned
    /// a reason.
    pub most_time: Option<Duration>,
}

/// Which event loop of a pass takes which of its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Each loop takes the next request of the whole pass.
    NextOfAll,
    /// Each loop has separate requests. Their numbers in the pass decide which loop has them.
    Own,
    /// Each loop has separate conversations. Requests are numbered in the order in which they begin.
    OwnConversations,
}

impl Order {
    /// The order for a pass.
    pub fn of(pass: &PassPlan) -> Self {
        match pass {
            PassPlan::Conversations(_) => Self::OwnConversations,
            _ if pass.is_scheduled() => Self::Own,
            _ => Self::NextOfAll,
        }
    }
}

/// The part of a pass that one event loop performs.
pub struct LoopPart {
    /// The part of this loop within the share of the process.
    pub part: Share,
    /// Decides when the requests of this loop are due.
    pub load: Box<dyn LoadModel>,
    /// The number of connections that the loop opens before the pass starts.
    pub connections_ahead: usize,
    /// The number of idle connections that the loop keeps open while the pass runs.
    pub spare_connections: usize,
    /// Wakes the loop from another thread; `None` if other loops cannot wake it.
    pub waker: Option<Waker>,
}

/// Decides when a pass starts, for example together with other processes.
pub trait StartGate: Send {
    /// Returns the start of the pass once it is decided. The driver calls this repeatedly after everything is
    /// prepared; `now` is the time of the call.
    fn start(&mut self, now: Nanos) -> Option<Nanos>;
}

/// Receives the record of each planned request once, when the request has ended or will never begin.
pub trait Recorder {
    /// Records a request that ended or will never begin, with its output text if the encoder stores it.
    fn record(&mut self, record: Record, text: Option<String>);

    /// Records `count` requests that never begin and differ only in their index. `record` is the record of the
    /// first of these requests.
    fn record_never_begun(&mut self, mut record: Record, count: u32) {
        for _ in 0..count {
            let next = Record { index: record.index.wrapping_add(1), ..record.clone() };
            self.record(std::mem::replace(&mut record, next), None);
        }
    }

    /// Whether too many records are waiting to be written. If so, no request should begin now.
    fn is_behind(&self) -> bool {
        false
    }

    /// Waits until records can be written again. Called only while no request is in flight.
    fn wait_for_room(&mut self) {}
}
