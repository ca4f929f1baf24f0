//! The interface of a load model, before and during a pass.

use std::fmt::Display;

use crate::{Bound, Nanos, OverLimit, PassKind, load::level::Stages};

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
    /// The number of the request's conversation, from 0, in the order in which conversations began. In a
    /// workload without conversations, each request counts as one conversation.
    pub conversation: u32,
    /// The place of the request in its conversation, from 0.
    pub call: u32,
    /// Whether the answer is complete, so that a conversation can continue.
    pub complete: bool,
}

/// The quantity that a load keeps constant during a pass.
#[derive(Clone, Debug, PartialEq)]
pub enum KeptConstant {
    /// The number of requests in flight.
    InFlight(u32),
    /// The arrival rate.
    Rate {
        /// Whether random arrivals are scaled to a fixed time span, so that their mean rate does not vary.
        is_span_fixed: bool,
        /// The maximum number in flight of a load with random arrivals, if requests that are due wait until it
        /// allows them.
        limit: Option<u32>,
    },
    /// Nothing is constant. So the requests of one pass do not show how much results vary from pass to
    /// pass. Contains the reason as text.
    Nothing(&'static str),
}

impl KeptConstant {
    /// The value for a load in which all requests are due at the start.
    pub(crate) const AT_ONCE: Self = Self::Nothing(
        "requests that are all due at the start do not reach a steady state: use --repeat",
    );
}

/// Decides during a pass when requests are due.
pub trait LoadModel: Send {
    /// When the next request is due. The call changes nothing.
    fn next_due(&self) -> Due;

    /// The conversation that the request of [`LoadModel::next_due`] continues, and the place of the request in it.
    /// Conversations are numbered in the order in which they began. `None` if the request continues no conversation. It
    /// is then the next request of the workload's source.
    fn continues(&self) -> Option<(u32, u32)> {
        None
    }

    /// Removes the request of [`LoadModel::next_due`] from the model, because the caller now sends it. The
    /// next call of `next_due` returns the due time of the following request.
    fn take(&mut self);

    /// The caller must call this when a request has ended, with any outcome. `at` is the offset of the end
    /// from the start of the pass.
    fn ended(&mut self, at: Nanos, ended: EndedRequest);
}

/// The description of a load model before a pass. Its `Display` text is the name of the load for users.
pub trait LoadPlan: Display {
    /// The kind of its pass, as results name it.
    fn kind(&self) -> PassKind;

    /// The number of requests, if it is known before the pass.
    fn requests(&self) -> Option<u32> {
        self.bound().requests
    }

    /// When the pass stops starting requests.
    fn bound(&self) -> Bound;

    /// The limit of requests in flight that a plan sets for arrivals, and what happens to requests that are
    /// due while this limit is reached. `None`: the plan sets no such limit.
    fn limit(&self) -> (Option<u32>, OverLimit) {
        (None, OverLimit::Queue)
    }

    /// The maximum number of requests that the load can have in flight; `None` if there is no maximum.
    /// For conversations and arrivals, it is the number of [`LoadPlan::limit`].
    fn most_in_flight(&self) -> Option<u32> {
        self.limit().0
    }

    /// Whether the requests in flight are limited to a number of two or more, so that a request may begin
    /// when another one ends. A load with all requests due at the start counts as limited. For conversations
    /// and arrivals, only [`LoadPlan::limit`] counts.
    fn is_limited(&self) -> bool {
        self.limit().0.is_some_and(|limit| limit > 1)
    }

    /// The stages of the rate or the concurrency; empty if there are fewer than two.
    fn stages(&self) -> Stages {
        Stages::default()
    }

    /// Whether the pass may end before its number of requests is reached: because of a time bound, the end
    /// of its stages, or the end of a recording. If so, the pass may have fewer records than
    /// [`LoadPlan::requests`] returns.
    fn may_end_before_its_count(&self) -> bool {
        self.bound().duration.is_some()
    }

    /// The rate of an open loop in requests per second, or the number of requests in flight of a closed
    /// loop. `None` if this number is not constant, and for other kinds of passes. In a search, the result
    /// is the load of a trial.
    fn constant_load(&self) -> Option<f64> {
        None
    }

    /// The quantity that the load keeps constant.
    fn keeps_constant(&self) -> KeptConstant {
        KeptConstant::Nothing("the load has no constant rate or number in flight: use --repeat")
    }

    /// The requested number of requests in flight; `None` if the load does not request one constant number,
    /// and for one request at a time ([`PassKind::OneByOne`]).
    fn concurrency(&self) -> Option<u32> {
        None
    }

    /// The requested rate, in requests per second; `None` if the load does not request one constant rate.
    fn rate(&self) -> Option<f64> {
        None
    }

    /// The highest rate of arrivals, in requests per second; for recorded times, the rate in the tenth of the
    /// recording with the most arrivals. 0 for a load without arrivals, such as a closed loop.
    fn peak_rate(&self) -> f64 {
        0.0
    }

    /// Whether requests arrive at a rate or at recorded times, independently of the ends of requests. If so,
    /// due times are part of the workload.
    fn is_scheduled(&self) -> bool {
        false
    }

    /// The maximum number of requests that can be in flight without later arrivals. For a concurrency that
    /// changes, this is the highest one. 0 for arrivals at a finite rate or at recorded times; `None` if
    /// there is no limit.
    fn at_start(&self) -> Option<u32>;

    /// The seconds after which the last request is due, if each request takes `each_s` seconds.
    fn last_due_s(&self, each_s: f64) -> f64;

    /// When the first request is due. Unlike [`LoadPlan::start`], this also works for a plan that was read from a run
    /// log, which has neither the offsets of a recording nor the turns of conversations.
    fn first_due(&self, seed: u64) -> Due {
        self.start(seed).next_due()
    }

    /// Creates the model for one pass. Its random choices depend only on the seed.
    fn start(&self, seed: u64) -> Box<dyn LoadModel>;
}
