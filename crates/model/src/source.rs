//! Where the requests of a pass come from, as a load generator sees it. Never how they are made.

use crate::record::Record;
use crate::request::Request;

/// What a [`Source`] has to say when it is asked for a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Supply {
    /// The next request.
    Request(Box<Request>),
    /// None until a request in flight has ended.
    Wait,
    /// No more.
    Exhausted,
}

/// What follows a request that has ended, in its conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum Follows {
    /// Nothing.
    Nothing,
    /// The next turn.
    Turn(Box<Request>),
    /// Turns that were planned and never will be sent.
    Skipped(Vec<Request>),
}

/// Where the requests of one pass come from.
pub trait Source: Send {
    /// The next request that follows no other: of a conversation, the first turn. The n-th of them
    /// begins the conversation n, counted from 0.
    fn next(&mut self) -> Supply;

    /// Tells that a request of a conversation ended, with its answer where that was kept, and asks
    /// what follows it.
    fn ended(&mut self, _conversation: u32, _record: &Record, _answer: &str) -> Follows {
        Follows::Nothing
    }

    /// A request that is planned and will never be sent, because the pass ends early.
    fn unsent(&mut self) -> Option<Request> {
        match self.next() {
            Supply::Request(request) => Some(*request),
            Supply::Wait | Supply::Exhausted => None,
        }
    }
}

/// A source that holds its requests, in order.
#[derive(Debug)]
pub struct Prepared(std::vec::IntoIter<Request>);

impl Prepared {
    /// A source that hands out these requests.
    pub fn new(requests: Vec<Request>) -> Self {
        Self(requests.into_iter())
    }
}

impl Source for Prepared {
    fn next(&mut self) -> Supply {
        self.0.next().map_or(Supply::Exhausted, |request| Supply::Request(Box::new(request)))
    }
}
