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

/// What follows the end of a request in its conversation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Follows {
    /// The requests that wait for nothing any more, with their places in the conversation.
    pub requests: Vec<(u32, Request)>,
    /// Planned requests that will never be sent.
    pub skipped: Vec<Request>,
}

/// What the server said to a request.
#[derive(Clone, Copy, Debug, Default)]
pub struct Said<'a> {
    /// The answer.
    pub answer: &'a str,
    /// The reasoning, if the server separates it from the answer.
    pub reasoning: &'a str,
}

/// A source of the requests of one pass.
pub trait Source: Send {
    /// The next request that does not depend on an earlier answer; for a conversation, its first turn. The
    /// n-th of these requests, counted from 0, begins conversation n.
    fn next(&mut self) -> Supply;

    /// Notifies the source that a conversation begins. Returns its requests that wait for no other one, without its
    /// first one, with their places in the conversation.
    fn begun(&mut self, _conversation: u32) -> Vec<(u32, Request)> {
        Vec::new()
    }

    /// Notifies the source that a request ended, which had this place in this conversation. `_said` has its answer and the
    /// reasoning before it, which are empty if they were not stored. Returns what follows this request.
    fn ended(&mut self, _of: (u32, u32), _record: &Record, _said: Said<'_>) -> Follows {
        Follows::default()
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
