//! Load models: what is due when. Pure: no I/O and no clock; instants are offsets from the start
//! of the pass.
//!
//! The same model drives sockets in real time, the embedded engine in virtual time, and tests.
//! Each is a file: what it says of itself before it is played ([`LoadPlan`]), and the model as it
//! is played ([`LoadModel`]). A further one is its file and a line in [`plan`]. What varies within
//! a model is data: a [`Level`] is a course of a rate or a concurrency, an
//! [`Arrivals`](crate::arrival::Arrivals) the spread of arrivals around a rate.

mod at_once;
mod closed;
mod conversations;
mod level;
mod open;
mod replay;

use std::fmt::Display;

pub use at_once::AtOnce;
pub use closed::Closed;
pub use conversations::{Conversations, CountOf, Script};
pub use level::{Curve, Level, Stage, Stages};
pub use open::Open;
pub use replay::{Recording, RecordingError};

use crate::plan::{Bound, PassPlan};
use crate::summary::PassKind;
use crate::time::Nanos;

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

/// Decides when requests are due, while they are played.
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

/// What a load model says of itself before it is played. Its text is how people call it.
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

/// What the load model of a pass says of itself.
#[must_use]
pub fn plan(pass: &PassPlan) -> Box<dyn LoadPlan + '_> {
    match *pass {
        PassPlan::OneByOne { bound } => Box::new(closed::OneByOnePlan { bound }),
        PassPlan::Saturated { requests } => Box::new(at_once::AtOncePlan { requests }),
        PassPlan::Closed { ref concurrency, bound } => {
            Box::new(closed::ClosedPlan { concurrency, bound })
        }
        PassPlan::Open { ref rate, arrivals, bound, .. } => {
            Box::new(open::OpenPlan { rate, arrivals, bound })
        }
        PassPlan::Replay { ref recording, speed, bound, .. } => {
            Box::new(replay::ReplayPlan { recording, speed, bound })
        }
        PassPlan::Conversations { ref script, ref begin, of } => {
            Box::new(conversations::ConversationsPlan { script, begin, of })
        }
    }
}

/// The load model of a pass, from its start.
#[must_use]
pub fn load_model(pass: &PassPlan, seed: u64) -> Box<dyn LoadModel> {
    plan(pass).start(seed)
}

/// The seconds after which the last request is due, when each occupies the level for `each`:
/// seconds of a place in a closed loop, one arrival in an open one.
fn bounded_s(level: &Level, bound: Bound, each: f64) -> f64 {
    let by_count = bound.requests.and_then(|count| level.time_of_area_s(f64::from(count) * each));
    let limits = [by_count, level.duration().map(|span| span.as_secs_f64())];
    let by_time = bound.duration.map(|span| span.as_secs_f64());
    limits.into_iter().flatten().chain(by_time).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests;
