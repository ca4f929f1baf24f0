//! One client's connection: bytes in and out, and the answer that is under way on it.

use std::collections::VecDeque;
use std::time::Duration;

use inferometer_model::time::Nanos;
use inferometer_net::{Close, ConnId, Net};
use inferometer_wire::http::{
    HttpError, LAST_CHUNK, Request, RequestParser, response_head, write_chunk,
};

use super::api::{Job, Reply};
use super::fault::FaultKind;
use crate::request::RequestId;

/// The name that answers give of their server.
const SERVER: &str = "inferometer-engine";

/// Statuses that say when to try again.
const RETRY_LATER: [u16; 2] = [429, 503];

/// A connection.
#[derive(Default)]
pub(super) struct Connection {
    pub(super) parser: RequestParser,
    /// Requests that came while an answer was under way.
    pub(super) queue: VecDeque<Request>,
    pub(super) keep_alive: bool,
    /// The answer under way; further requests wait for its end.
    pub(super) answer: Option<Answer>,
    /// Nothing is written before this instant.
    pub(super) held_until: Option<Nanos>,
    /// How it ends once all is written.
    pub(super) closing: Option<Close>,
    out: Vec<u8>,
}

/// An answer that the engine is making.
pub(super) struct Answer {
    pub(super) request: RequestId,
    pub(super) job: Job,
    pub(super) faults: Vec<FaultKind>,
    /// Tokens of which the client was told.
    pub(super) told: u32,
    /// Bytes of the output of which the client was told.
    pub(super) told_bytes: usize,
    /// The output so far.
    pub(super) text: String,
    pub(super) arrived: Nanos,
    pub(super) first_token: Option<Nanos>,
    pub(super) last_token: Option<Nanos>,
    /// An answer that failed or stalls says nothing more.
    pub(super) silent: bool,
}

impl Answer {
    /// Whether this fault befalls the answer.
    pub(super) fn has(&self, kind: FaultKind) -> bool {
        self.faults.contains(&kind)
    }

    /// How long its middle is held back, if it is.
    pub(super) fn spike(&self) -> Option<Duration> {
        self.faults.iter().find_map(|fault| match fault {
            FaultKind::Spike(ms) => Some(Duration::from_millis(u64::from(*ms))),
            _ => None,
        })
    }

    /// Tokens per event.
    pub(super) fn bundle(&self) -> u32 {
        let bundle = self.faults.iter().find_map(|fault| match fault {
            FaultKind::Bundle(tokens) => Some(*tokens),
            _ => None,
        });
        bundle.unwrap_or(1)
    }
}

impl Connection {
    /// Queues an answer to what is no request; the connection ends with it.
    pub(super) fn refuse(&mut self, error: &HttpError) {
        self.keep_alive = false;
        if self.answer.is_none() {
            self.reply(&Reply::error(400, &error.to_string()));
        } else {
            // An answer in the middle of another would not be understood.
            self.closing.get_or_insert(Close::Gracefully);
        }
    }

    /// Queues bytes as they are.
    pub(super) fn raw(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// Queues a complete response.
    pub(super) fn reply(&mut self, reply: &Reply) {
        let length = reply.body.len().to_string();
        let mut headers = vec![("content-type", reply.content_type), ("content-length", &length)];
        if RETRY_LATER.contains(&reply.status) {
            headers.push(("retry-after", "1"));
        }
        self.head(reply.status, &headers);
        self.raw(&reply.body);
        self.end();
    }

    /// Queues the head of a stream.
    pub(super) fn stream_head(&mut self, content_type: &str) {
        self.head(200, &[("content-type", content_type), ("transfer-encoding", "chunked")]);
    }

    /// Queues a head; `server` and `connection` fields are added.
    pub(super) fn head(&mut self, status: u16, headers: &[(&str, &str)]) {
        let mut all = vec![("server", SERVER)];
        all.extend_from_slice(headers);
        if !self.keep_alive {
            all.push(("connection", "close"));
        }
        self.raw(&response_head(status, &all));
    }

    /// Queues one event of a stream as one chunk.
    pub(super) fn event(&mut self, event: &[u8]) {
        write_chunk(&mut self.out, event);
    }

    /// Queues the end of a stream.
    pub(super) fn stream_end(&mut self) {
        self.raw(LAST_CHUNK);
        self.end();
    }

    fn end(&mut self) {
        if !self.keep_alive {
            self.closing.get_or_insert(Close::Gracefully);
        }
    }

    /// Writes what the socket takes. Says whether the connection lives on.
    pub(super) fn flush(&mut self, net: &mut impl Net, id: ConnId) -> bool {
        if self.held_until.is_some_and(|until| until > net.now()) {
            return true;
        }
        self.held_until = None;
        if !self.out.is_empty() {
            match net.write(id, &self.out) {
                Ok(written) => drop(self.out.drain(..written)),
                Err(_) => {
                    net.close(id, Close::Reset);
                    return false;
                }
            }
        }
        match self.closing {
            Some(how) if self.out.is_empty() => {
                net.close(id, how);
                false
            }
            _ => true,
        }
    }
}
