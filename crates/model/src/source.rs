//! Where the requests of a pass come from: the interface for a load generator. How they are made is not
//! defined here.

use crate::record::Record;
use crate::request::Request;

/// The answer of a [`Source`] to a call for a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Supply {
    /// The next request.
    Request(Box<Request>),
    /// No request until one in flight has ended.
    Wait,
    /// There are no more requests.
    Exhausted,
}

/// What follows a request that has ended in its conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum Follows {
    /// Nothing.
    Nothing,
    /// The next turn.
    Turn(Box<Request>),
    /// Planned turns that will never be sent.
    Skipped(Vec<Request>),
}

/// Where the requests of one pass come from.
pub trait Source: Send {
    /// The next request that follows no other one; for a conversation, its first turn. The n-th of these
    /// requests begins conversation n, counted from 0.
    fn next(&mut self) -> Supply;

    /// Notes that a request of a conversation ended, with its answer if that was kept. Returns what follows
    /// it.
    fn ended(&mut self, _conversation: u32, _record: &Record, _answer: &str) -> Follows {
        Follows::Nothing
    }

    /// A planned request that will never be sent, because the pass ends early; `None` if there is none left.
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
