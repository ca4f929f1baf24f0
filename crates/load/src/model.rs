//! The interface of a load model, before and during a pass.

use std::fmt::Display;

use inferometer_model::time::Nanos;

use crate::kind::PassKind;

/// When the next request is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// At this offset from the start of the pass. It may be in the past.
    At(Nanos),
    /// Not before a request in flight has ended.
    AfterEnd,
    /// There are no more requests.
    Never,
}

/// The facts about an ended request that decide which requests are due next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedRequest {
    /// The number of its conversation, from 0, in the order in which conversations began. In a workload
    /// without conversations, each request is a conversation of its own.
    pub conversation: u32,
    /// Whether its answer is complete, so that a conversation can continue.
    pub complete: bool,
}

/// Decides during a pass when requests are due.
pub trait LoadModel: Send {
    /// When the next request is due. The call changes nothing.
    fn next_due(&self) -> Due;

    /// The conversation that the request of [`LoadModel::next_due`] continues. Conversations are numbered
    /// in the order in which they began. `None` if the request continues no conversation: it is the next
    /// one of the workload's source.
    fn continues(&self) -> Option<u32> {
        None
    }

    /// Tells the model that the caller has taken over the request of [`LoadModel::next_due`]. The next call
    /// of `next_due` is about the request after it.
    fn take(&mut self);

    /// Tells the model that a request ended at this offset from the start of the pass, with any outcome.
    fn ended(&mut self, at: Nanos, ended: EndedRequest);
}

/// The description of a load model before a pass. Its `Display` text is the name that users see.
pub trait LoadPlan: Display {
    /// The kind of its pass, as results name it.
    fn kind(&self) -> PassKind;

    /// The number of requests, if it is known before the pass.
    fn requests(&self) -> Option<u32>;

    /// The requested number of requests in flight; `None` if the load does not request one constant number.
    fn concurrency(&self) -> Option<u32> {
        None
    }

    /// The requested rate, in requests per second; `None` if the load does not request one constant rate.
    fn rate(&self) -> Option<f64> {
        None
    }

    /// The highest rate of arrivals, in requests per second; 0 if a request is due only when another one
    /// ends.
    fn peak_rate(&self) -> f64 {
        0.0
    }

    /// Whether due times do not depend on the ends of requests. If so, they are part of the workload.
    fn is_scheduled(&self) -> bool {
        false
    }

    /// The most requests that can be in flight at the start, before later arrivals: 0 for arrivals at a
    /// rate; `None` if there is no limit.
    fn at_start(&self) -> Option<u32>;

    /// The seconds after which the last request is due, if each request takes `each_s` seconds.
    fn last_due_s(&self, each_s: f64) -> f64;

    /// Creates the model for one pass. Its random choices depend only on the seed.
    fn start(&self, seed: u64) -> Box<dyn LoadModel>;
}
