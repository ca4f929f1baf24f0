//! Queues data on a client's connection: complete responses, streams, and the response that the engine is generating.
//! This file does not decide what to send, and writes to no socket.

use std::time::Duration;

use inferometer_model::Nanos;

use super::api::{Job, Reply};
use super::fault::FaultKind;
use crate::RequestId;

/// The `server` field of every response.
const SERVER: &str = "inferometer-engine";

/// Status codes of responses with a `retry-after` header.
const RETRY_LATER: [u16; 2] = [429, 503];

/// A client's connection.
pub(super) type Connection = inferometer_net::http::Connection<Generation>;

/// A response that the engine is generating.
pub struct Generation {
    pub(super) request: RequestId,
    pub(super) job: Job,
    pub(super) faults: Vec<FaultKind>,
    /// Tokens sent to the client.
    pub(super) sent_tokens: u32,
    /// Bytes of the output sent to the client.
    pub(super) sent_bytes: usize,
    /// The output so far.
    pub(super) text: String,
    pub(super) arrived: Nanos,
    pub(super) first_token: Option<Nanos>,
    pub(super) last_token: Option<Nanos>,
    /// Whether the response failed or stalls. If so, nothing more is sent.
    pub(super) sends_nothing: bool,
}

impl Generation {
    /// Whether this fault is injected into the response.
    pub(super) fn has(&self, kind: FaultKind) -> bool {
        self.faults.contains(&kind)
    }

    /// The delay in the middle of the response, if there is one.
    pub(super) fn spike(&self) -> Option<Duration> {
        self.faults.iter().find_map(|fault| match fault {
            FaultKind::Spike(ms) => Some(Duration::from_millis(u64::from(*ms))),
            _ => None,
        })
    }

    /// How long the engine goes on with the request if its client leaves; `None`: not at all.
    pub(super) fn lingers(&self) -> Option<Duration> {
        self.faults.iter().find_map(|fault| match fault {
            FaultKind::Linger(ms) => Some(Duration::from_millis(u64::from(*ms))),
            _ => None,
        })
    }

    /// The number of tokens per event.
    pub(super) fn bundle(&self) -> u32 {
        let bundle = self.faults.iter().find_map(|fault| match fault {
            FaultKind::Bundle(tokens) => Some(*tokens),
            _ => None,
        });
        bundle.unwrap_or(1)
    }
}

/// Queues a response head that begins with the `server` field.
pub(super) fn head(connection: &mut Connection, status: u16, headers: &[(&str, &str)]) {
    connection.head(status, &[&[("server", SERVER)], headers].concat());
}

/// Queues a complete response.
pub(super) fn respond(connection: &mut Connection, reply: &Reply) {
    let length = reply.body.len().to_string();
    let mut headers = vec![("content-type", reply.content_type), ("content-length", &length)];
    if RETRY_LATER.contains(&reply.status) {
        headers.push(("retry-after", "1"));
    }
    head(connection, reply.status, &headers);
    connection.output.push(&reply.body);
    connection.end();
}

/// Queues the head of a streamed response.
pub(super) fn stream_head(connection: &mut Connection, content_type: &str) {
    head(connection, 200, &[("content-type", content_type), ("transfer-encoding", "chunked")]);
}
