//! Limits on what one client may send and on how long it may stay silent. Values only.

use std::time::Duration;

use inferometer_wire::http::{MAX_HEAD_BYTES, MAX_REQUEST_BODY_BYTES};

/// Limits that a [`crate::Server`] applies to each client. The default fits a trusted client of an
/// inference server: large bodies, any number of connections, no timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest request head, in bytes.
    pub head_bytes: usize,
    /// Longest request body, in bytes.
    pub body_bytes: usize,
    /// Connections open at one time. When a further one arrives, the longest idle one is closed;
    /// if none is idle, the new one gets status 503.
    pub connections: usize,
    /// Requests that may wait on a connection while it writes a response. A client that sends more
    /// is disconnected.
    pub queued_requests: usize,
    /// While more bytes than this wait for the client to read, none of its requests is answered.
    pub unsent_bytes: usize,
    /// Requests that are answered in one turn, where a client may send many. Those that were answered
    /// longest ago come first, so that nobody keeps the others waiting.
    pub answers_per_turn: usize,
    /// A client that has read nothing for this long, with a response waiting for it, gives its place to
    /// a further connection when there is no other.
    pub stalled_after: Duration,
    /// When a silent connection is closed, if ever.
    pub timeouts: Option<Timeouts>,
}

/// How long a connection may stay silent. Nothing counts while a response is being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Time to receive a whole request, counted from the connection's opening or the end of the
    /// response before.
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
