//! Limits of a server: on connections, on the requests of a connection, and on the time without a request.
//! This module contains only values.

use std::time::Duration;

use inferometer_wire::http::{MAX_HEAD_BYTES, MAX_REQUEST_BODY_BYTES};

/// Limits that a [`crate::http::Server`] applies to its clients. The default fits trusted clients of an inference
/// server: large bodies, any number of connections, no timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest request head, in bytes.
    pub head_bytes: usize,
    /// The longest request body, in bytes.
    pub body_bytes: usize,
    /// Maximum number of open connections. If it is reached when a new connection arrives, the server closes
    /// the longest idle connection, or, if none is idle, the longest stalled connection. If no connection is
    /// idle or stalled, the new connection gets status 503 and is closed.
    pub connections: usize,
    /// Maximum number of requests that may wait on a connection while a response is in progress. A client
    /// that sends more is disconnected.
    pub queued_requests: usize,
    /// While at least this many bytes wait to be sent to the client, none of its requests is answered.
    pub unsent_bytes: usize,
    /// Maximum number of requests that are answered in one turn. The connection whose last answer is the
    /// oldest is served first, so that no client delays the others.
    pub answers_per_turn: usize,
    /// A connection is stalled if its client has read nothing for this time although bytes wait for it.
    pub stalled_after: Duration,
    /// When a connection without requests is closed; `None` for never.
    pub timeouts: Option<Timeouts>,
}

/// How long a connection may be without a request. The time in which a response is written does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Time to receive a whole request, from the opening of the connection or the end of the previous
    /// response.
    pub request: Duration,
    /// Time between two requests.
    pub idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head_bytes: MAX_HEAD_BYTES,
            body_bytes: MAX_REQUEST_BODY_BYTES,
            connections: usize::MAX,
            queued_requests: usize::MAX,
            unsent_bytes: usize::MAX,
            answers_per_turn: usize::MAX,
            stalled_after: Duration::MAX,
            timeouts: None,
        }
    }
}
