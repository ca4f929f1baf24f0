//! The interface of a load model, before and during a pass.

use std::fmt::Display;

use inferometer_model::time::Nanos;

use crate::kind::PassKind;

/// When the next request is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// At this offset from the start of the pass, which may have passed already.
    At(Nanos),
    /// Not before a request in flight has ended.
    AfterEnd,
    /// There is no further request.
    Never,
}

/// Which request ended, and how, as far as that decides what is due next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The conversation it is of, by the number in which conversations began. Where a workload has
    /// none, each request is the only one of its conversation.
    pub conversation: u32,
    /// Whether its answer is complete, so that a conversation can go on.
    pub complete: bool,
}

/// Decides during a pass when requests are due.
pub trait LoadModel: Send {
    /// When the next request is due. Asking changes nothing.
    fn next_due(&self) -> Due;

    /// The conversation that the request of [`LoadModel::next_due`] goes on with, by the number in
    /// which conversations began; absent where it is the next one that the source has.
    fn continues(&self) -> Option<u32> {
        None
    }

    /// The request that [`LoadModel::next_due`] spoke of has been taken up.
    fn take(&mut self);

    /// A request ended at this offset, whatever its outcome.
    fn ended(&mut self, at: Nanos, ended: Ended);
}

/// The description of a load model before a pass. Its text is the name shown to people.
pub trait LoadPlan: Display {
    /// The kind of its pass, as results name it.
    fn kind(&self) -> PassKind;

    /// The number of requests, where it is known beforehand.
    fn requests(&self) -> Option<u32>;

    /// Requests in flight that it asks for, where that is one number.
    fn concurrency(&self) -> Option<u32> {
        None
    }

    /// Requests per second that it asks for, where that is one number.
    fn rate(&self) -> Option<f64> {
        None
    }

    /// The highest rate of its arrivals, in requests per second; 0 where requests are due at ends.
    fn peak_rate(&self) -> f64 {
        0.0
    }

    /// Whether due times are known before anything ends: they are part of the workload then.
    fn is_scheduled(&self) -> bool {
        false
    }

    /// Requests that are in flight at once without waiting for arrivals; absent where there is no
    /// limit.
    fn at_start(&self) -> Option<u32>;

    /// The seconds after which its last request is due, if each takes `each_s`.
    fn last_due_s(&self, each_s: f64) -> f64;

    /// The model, from its start; a seed makes its random choices.
    fn start(&self, seed: u64) -> Box<dyn LoadModel>;
}
