//! The reference server: sends streams of tokens. Each token has an absolute due time, and the text of the token is its
//! send time. (With a gap of zero, only the first token of a stream has a due time.) The server has one thread. It
//! never delays a token to send several together, never drops a token, and never sends a token before its due time.

use std::collections::{BinaryHeap, VecDeque};
use std::{borrow::Cow, cmp::Reverse, collections::binary_heap::PeekMut, time::Duration};

use inferometer_model::Nanos;
use inferometer_net::http::{Connection, Connections, Handler, answer_waiting};
use inferometer_net::{ConnId, Net, Wake};
use inferometer_wire::http::{Request, response_head};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::truth::frame::{self, Frame};
use crate::truth::stats::Counters;

/// The due times of the tokens of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The time from the end of the request to the due time of the first token.
    pub first: Duration,
    /// The time between the due times of two successive tokens. If it is zero, tokens are sent as fast as possible, one
    /// of each stream in round-robin order.
    pub gap: Duration,
}

/// The maximum number of tokens of each queue that are sent in one turn of the event loop. Between turns, requests are
/// read.
const TOKENS_PER_TURN: usize = 128;

/// The handler of the server. It responds to `/v1/completions`, `/v1/models`, `/truth` (the server's counts) and
/// `/truth/reset` (sets the counts to zero; streams in progress count from then on). An [`inferometer_net::http::Server`]
/// runs it.
pub struct TruthServer {
    pace: Pace,
    /// The streams with due times, by the due time of the next token.
    agenda: BinaryHeap<Reverse<(Nanos, ConnId)>>,
    /// The streams that send as fast as possible, in round-robin order.
    eager: VecDeque<ConnId>,
    counters: Counters,
    request_count: u64,
}

/// The body of a completion request.
#[derive(Default, Deserialize)]
struct Body<'a> {
    max_tokens: Option<u32>,
    #[serde(borrow)]
    prompt: Option<Cow<'a, str>>,
}

/// The response to a completion request while its tokens are sent.
pub struct Stream {
    frame: Frame,
    prompt_tokens: usize,
    sent: u32,
    total: u32,
}

impl TruthServer {
    /// A server without any requests yet.
    pub fn new(pace: Pace) -> Self {
        Self {
            pace,
            agenda: BinaryHeap::new(),
            eager: VecDeque::new(),
            counters: Counters::default(),
            request_count: 0,
        }
    }

    /// The counts since the start or the last `/truth/reset`.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    fn begin<N: Net>(&mut self, net: &mut N, connection: &mut Connection<Stream>, body: &[u8]) {
        let Body { max_tokens, prompt } = serde_json::from_slice(body).unwrap_or_default();
        let (Some(total @ 1..), Some(prompt)) = (max_tokens, prompt) else {
            let message = "a prompt as text and max_tokens of at least 1 are needed";
            return respond(connection, 400, &json!({ "error": { "message": message } }));
        };
        let now = net.now();
        self.request_count += 1;
        let frame = Frame::new(self.request_count);
        let prompt_tokens = prompt.split_whitespace().count();
        connection.response = Some(Stream { frame, prompt_tokens, sent: 0, total });
        self.counters.begin(now);
        self.agenda.push(Reverse((now + self.pace.first, connection.id())));
    }

    /// Sends the next token of a stream. Returns whether the stream has more tokens.
    fn send_token<N: Net>(
        &mut self,
        net: &mut N,
        connections: &mut Connections<Stream>,
        id: ConnId,
        due: Nanos,
    ) -> bool {
        let Some(connection) = connections.get_mut(id) else { return false };
        let Some(stream) = &mut connection.response else { return false };
        let now = net.now();
        let (first, last) = (stream.sent == 0, stream.sent + 1 == stream.total);
        stream.sent += 1;
        self.counters.token(now.since(due));
        let frame = stream.frame.stamped(now);
        let sent = if first || last {
            let mut bytes = if first { frame::head() } else { Vec::new() };
            bytes.extend_from_slice(frame);
            if last {
                bytes.extend_from_slice(&frame::end(stream.prompt_tokens, stream.total));
            }
            connection.output.send(net, &bytes)
        } else {
            connection.output.send(net, frame)
        };
        match sent {
            Ok(true) => {}
            Ok(false) => self.counters.blocked(),
            Err(_) => {
                if connections.close(net, id).is_some() {
                    self.counters.end(net.now());
                }
                return false;
            }
        }
        if last {
            connection.response = None;
            self.counters.end(net.now());
            answer_waiting(self, net, connections, id);
            if connections.flush(net, id).is_some() {
                self.counters.end(net.now());
            }
        }
        !last
    }

    /// Sends the tokens that are due, up to [`TOKENS_PER_TURN`] of each queue. Returns when the next token is due.
    fn send_due<N: Net>(&mut self, net: &mut N, connections: &mut Connections<Stream>) -> Wake {
        for _ in 0..TOKENS_PER_TURN {
            let Some(&Reverse((due, id))) = self.agenda.peek() else { break };
            if due > net.now() {
                break;
            }
            let more = self.send_token(net, connections, id, due);
            // This is still the entry of this token: a request that began in `send_token` is not due earlier, and it uses
            // the same connection.
            let Some(mut next) = self.agenda.peek_mut() else { break };
            if more && !self.pace.gap.is_zero() {
                // Dropping `next` moves the stream to its new position in the heap.
                next.0.0 = due + self.pace.gap;
                continue;
            }
            PeekMut::pop(next);
            if more {
                self.eager.push_back(id);
            }
        }
        let now = net.now();
        for _ in 0..TOKENS_PER_TURN.min(self.eager.len()) {
            let Some(id) = self.eager.pop_front() else { break };
            let blocked = connections.get_mut(id).is_some_and(|one| !one.output.is_empty());
            if blocked || self.send_token(net, connections, id, now) {
                self.eager.push_back(id);
            }
        }
        match self.agenda.peek() {
            _ if !self.eager.is_empty() => Wake::At(net.now()),
            Some(&Reverse((due, _))) => Wake::At(due),
            None => Wake::WhenReady,
        }
    }
}

impl Handler for TruthServer {
    type Response = Stream;

    fn request<N: Net>(
        &mut self,
        net: &mut N,
        connection: &mut Connection<Stream>,
        request: &Request,
    ) {
        match request.target.as_str() {
            "/v1/completions" => self.begin(net, connection, &request.body),
            "/v1/models" => {
                let models = json!({ "object": "list", "data": [{ "id": "truth" }] });
                respond(connection, 200, &models);
            }
            "/truth" => respond(connection, 200, &json!(self.counters.stats())),
            "/truth/reset" => {
                self.counters.reset(net.now());
                respond(connection, 200, &json!({}));
            }
            other => {
                let message = format!("this server has no {other}");
                respond(connection, 404, &json!({ "error": { "message": message } }));
            }
        }
    }

    fn refuse(&mut self, connection: &mut Connection<Stream>, _status: u16, _why: &str) {
        connection.close();
    }

    fn client_left(&mut self, now: Nanos, _stream: Stream) {
        self.counters.end(now);
    }

    fn turn<N: Net>(&mut self, net: &mut N, connections: &mut Connections<Stream>) -> Wake {
        self.send_due(net, connections)
    }
}

/// Queues a JSON response. The server keeps the connection open; the client closes it.
fn respond(connection: &mut Connection<Stream>, status: u16, document: &Value) {
    let body = document.to_string();
    let length = body.len().to_string();
    let headers = [("content-type", "application/json"), ("content-length", &length)];
    let mut bytes = response_head(status, &headers);
    bytes.extend_from_slice(body.as_bytes());
    connection.output.push(&bytes);
}
