//! The interface between a load generator and the source of its requests. This file does not define how
//! requests are made.

use crate::{Record, Request};

/// The result of [`Source::next`], with which a load generator requests the next request.
#[derive(Clone, Debug, PartialEq)]
pub enum Supply {
    /// The next request.
    Request(Box<Request>),
    /// No request is ready now: the caller must call again later.
    Wait,
    /// There are no more requests.
    Exhausted,
}

/// The continuation of a conversation after one of its requests has ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Follows {
    /// No turn follows, or the request belongs to no conversation.
    Nothing,
    /// The next turn.
    Turn(Box<Request>),
    /// The conversation ends: these planned turns will never be sent.
    Skipped(Vec<Request>),
}

/// A source of the requests of one pass.
pub trait Source: Send {
    /// The next request that does not depend on an earlier answer; for a conversation, its first turn. The
    /// n-th of these requests, counted from 0, begins conversation n.
    fn next(&mut self) -> Supply;

    /// Notifies the source that a request of a conversation ended. `_answer` is its answer, or empty if
    /// the answer was not stored. Returns what follows this request.
    fn ended(&mut self, _conversation: u32, _record: &Record, _answer: &str) -> Follows {
        Follows::Nothing
    }

    /// A planned request that will never be sent, because the pass ends early; `None` if none is left or ready.
    fn unsent(&mut self) -> Option<Request> {
        match self.next() {
            Supply::Request(request) => Some(*request),
            Supply::Wait | Supply::Exhausted => None,
        }
    }
}

/// A source that contains its requests, in order.
#[derive(Debug)]
pub struct Prepared(std::vec::IntoIter<Request>);

impl Prepared {
    /// A source that returns these requests.
    pub fn new(requests: Vec<Request>) -> Self {
        Self(requests.into_iter())
    }
}

impl Source for Prepared {
    fn next(&mut self) -> Supply {
        self.0.next().map_or(Supply::Exhausted, |request| Supply::Request(Box::new(request)))
    }
}
