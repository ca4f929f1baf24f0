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

/// A request that ended, as far as it affects what is due next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedRequest {
    /// The number of its conversation, in the order in which conversations began. In a workload without
    /// conversations, each request is a conversation of its own.
    pub conversation: u32,
    /// Whether its answer is complete, so that a conversation can continue.
    pub complete: bool,
}

/// Decides during a pass when requests are due.
pub trait LoadModel: Send {
    /// When the next request is due. The call changes nothing.
    fn next_due(&self) -> Due;

    /// The conversation that the request of [`LoadModel::next_due`] continues. Conversations are numbered in
    /// the order in which they began. `None` if the request is the next one of the source.
    fn continues(&self) -> Option<u32> {
        None
    }

    /// Notes that the request of [`LoadModel::next_due`] has been taken.
    fn take(&mut self);

    /// Notes that a request ended at this offset, whatever its outcome.
    fn ended(&mut self, at: Nanos, ended: EndedRequest);
}

/// The description of a load model before a pass. Its text is the name shown to people.
pub trait LoadPlan: Display {
    /// The kind of its pass, as results name it.
    fn kind(&self) -> PassKind;

    /// The number of requests, if it is known before the pass.
    fn requests(&self) -> Option<u32>;

    /// The requested number in flight, if it is one number.
    fn concurrency(&self) -> Option<u32> {
        None
    }

    /// The requested rate, in requests per second, if it is one number.
    fn rate(&self) -> Option<f64> {
        None
    }

    /// The highest rate of its arrivals, in requests per second; 0 if requests are due when others end.
    fn peak_rate(&self) -> f64 {
        0.0
    }

    /// Whether due times are known before any request ends. Then they are part of the workload.
    fn is_scheduled(&self) -> bool {
        false
    }

    /// Requests that can be in flight at once without waiting for arrivals; `None` if there is no limit.
    fn at_start(&self) -> Option<u32>;

    /// The seconds after which its last request is due, if each request takes `each_s` seconds.
    fn last_due_s(&self, each_s: f64) -> f64;

    /// The model at the start of a pass; its random choices come from the seed.
    fn start(&self, seed: u64) -> Box<dyn LoadModel>;
}
