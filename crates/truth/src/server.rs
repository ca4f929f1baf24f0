//! The server: streams on absolute deadlines, one write a token, and each token says when it was
//! sent. It has one thread, and it never drops, bundles or hurries a token.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use inferometer_model::time::Nanos;
use inferometer_net::{Actor, Close, ConnId, Net, ReadResult, Ready, Wake};
use inferometer_wire::http::{Request, RequestParser, response_head};
use serde_json::{Value, json};

use crate::frame::{self, Frame};
use crate::served::Served;

/// When the tokens of a stream are due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The first one, after the whole request was read.
    pub first: Duration,
    /// Each later one, after the one before it was due; zero: as soon as those of all other
    /// streams were sent.
    pub gap: Duration,
}

/// Tokens sent in one turn, so that requests are read in between.
const TOKENS_PER_TURN: usize = 128;
const READ_BUFFER: usize = 64 << 10;

/// A server of known truth: completions, `/v1/models`, its own accounts under `/truth`, and
/// `/truth/reset`, which begins them anew.
pub struct TruthServer {
    pace: Pace,
    conns: Vec<Option<Conn>>,
    /// Streams by the instant at which their next token is due.
    agenda: BinaryHeap<Reverse<(Nanos, ConnId)>>,
    /// Streams that send as fast as they can.
    eager: VecDeque<ConnId>,
    served: Served,
    numbered: u64,
    buffer: Vec<u8>,
}

struct Conn {
    id: ConnId,
    parser: RequestParser,
    stream: Option<Stream>,
    /// What the connection has not taken yet.
    unsent: Vec<u8>,
}

struct Stream {
    frame: Frame,
    prompt_tokens: usize,
    sent: u32,
    total: u32,
}

impl TruthServer {
    /// A server that has served nothing.
    #[must_use]
    pub fn new(pace: Pace) -> Self {
        Self {
            pace,
            conns: Vec::new(),
            agenda: BinaryHeap::new(),
            eager: VecDeque::new(),
            served: Served::default(),
            numbered: 0,
            buffer: vec![0; READ_BUFFER],
        }
    }

    /// What it saw and did so far.
    #[must_use]
    pub fn served(&self) -> &Served {
        &self.served
    }

    fn conn(&mut self, id: ConnId) -> Option<&mut Conn> {
        self.conns.get_mut(id.slot())?.as_mut().filter(|conn| conn.id == id)
    }

    fn accept(&mut self, id: ConnId) {
        if self.conns.len() <= id.slot() {
            self.conns.resize_with(id.slot() + 1, || None);
        }
        let parser = RequestParser::new();
        self.conns[id.slot()] = Some(Conn { id, parser, stream: None, unsent: Vec::new() });
    }

    fn receive<N: Net>(&mut self, net: &mut N, id: ConnId) {
        let bytes = match net.read(id, &mut self.buffer) {
            ReadResult::Data(arrived) => arrived.bytes,
            ReadResult::Empty => return,
            ReadResult::Closed | ReadResult::Failed(_) => return self.hang_up(net, id),
        };
        let buffer = std::mem::take(&mut self.buffer);
        let request = self.conn(id).map(|conn| conn.parser.push(&buffer[..bytes]));
        self.buffer = buffer;
        match request {
            Some(Ok(Some(request))) => self.answer(net, id, &request),
            Some(Ok(None)) | None => {}
            Some(Err(_)) => self.hang_up(net, id),
        }
    }

    fn hang_up<N: Net>(&mut self, net: &mut N, id: ConnId) {
        let had_stream = self.conn(id).is_some_and(|conn| conn.stream.is_some());
        if had_stream {
            self.served.end(net.now());
        }
        if self.conn(id).is_some() {
            self.conns[id.slot()] = None;
            net.close(id, Close::Gracefully);
        }
    }

    fn answer<N: Net>(&mut self, net: &mut N, id: ConnId, request: &Request) {
        match request.target.as_str() {
            "/v1/completions" => self.begin(net, id, &request.body),
            "/v1/models" => {
                let models = json!({ "object": "list", "data": [{ "id": "truth" }] });
                self.tell(net, id, 200, &models);
            }
            "/truth" => {
                let told = json!(self.served.told());
                self.tell(net, id, 200, &told);
            }
            "/truth/reset" => {
                self.served = Served::default();
                self.tell(net, id, 200, &json!({}));
            }
            other => {
                let message = format!("this server has no {other}");
                self.tell(net, id, 404, &json!({ "error": { "message": message } }));
            }
        }
    }

    fn begin<N: Net>(&mut self, net: &mut N, id: ConnId, body: &[u8]) {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let total = body["max_tokens"].as_u64().and_then(|count| u32::try_from(count).ok());
        let (Some(total @ 1..), Some(prompt)) = (total, body["prompt"].as_str()) else {
            let message = "a prompt as text and max_tokens of at least 1 are needed";
            return self.tell(net, id, 400, &json!({ "error": { "message": message } }));
        };
        let now = net.now();
        self.numbered += 1;
        let frame = Frame::new(self.numbered);
        let prompt_tokens = prompt.split_whitespace().count();
        let Some(conn) = self.conn(id) else { return };
        conn.stream = Some(Stream { frame, prompt_tokens, sent: 0, total });
        self.served.begin(now);
        self.agenda.push(Reverse((now + self.pace.first, id)));
    }

    fn tell<N: Net>(&mut self, net: &mut N, id: ConnId, status: u16, document: &Value) {
        let body = document.to_string();
        let length = body.len().to_string();
        let headers = [("content-type", "application/json"), ("content-length", &length)];
        let mut bytes = response_head(status, &headers);
        bytes.extend_from_slice(body.as_bytes());
        self.write(net, id, &bytes);
    }

    /// Writes, or keeps what the connection does not take.
    fn write<N: Net>(&mut self, net: &mut N, id: ConnId, bytes: &[u8]) {
        let Some(conn) = self.conn(id) else { return };
        let taken = match conn.unsent.is_empty() {
            true => net.write(id, bytes),
            false => Ok(0),
        };
        match taken {
            Ok(taken) if taken == bytes.len() => {}
            Ok(taken) => {
                conn.unsent.extend_from_slice(&bytes[taken..]);
                self.served.blocked();
            }
            Err(_) => self.hang_up(net, id),
        }
    }

    fn write_on<N: Net>(&mut self, net: &mut N, id: ConnId) {
        let Some(conn) = self.conn(id) else { return };
        match net.write(id, &conn.unsent) {
            Ok(taken) => drop(conn.unsent.drain(..taken)),
            Err(_) => self.hang_up(net, id),
        }
    }

    /// Sends a stream's next token. Returns whether more follow.
    fn token<N: Net>(&mut self, net: &mut N, id: ConnId, due: Nanos) -> bool {
        let Some(Some(conn)) = self.conns.get_mut(id.slot()) else { return false };
        let Some(stream) = conn.stream.as_mut().filter(|_| conn.id == id) else { return false };
        let now = net.now();
        let (first, last) = (stream.sent == 0, stream.sent + 1 == stream.total);
        stream.sent += 1;
        self.served.token(now.since(due));
        let frame = stream.frame.stamped(now);
        if !first && !last && conn.unsent.is_empty() {
            match net.write(id, frame) {
                Ok(taken) if taken == frame.len() => {}
                Ok(taken) => {
                    conn.unsent.extend_from_slice(&frame[taken..]);
                    self.served.blocked();
                }
                Err(_) => {
                    self.hang_up(net, id);
                    return false;
                }
            }
            return true;
        }
        let mut bytes = if first { frame::head() } else { Vec::new() };
        bytes.extend_from_slice(frame);
        if last {
            bytes.extend_from_slice(&frame::end(stream.prompt_tokens, stream.total));
            conn.stream = None;
        }
        self.write(net, id, &bytes);
        if last {
            self.served.end(net.now());
        }
        !last
    }

    /// Sends what is due, up to a limit.
    fn send_due<N: Net>(&mut self, net: &mut N) -> Wake {
        for _ in 0..TOKENS_PER_TURN {
            let Some(&Reverse((due, id))) = self.agenda.peek() else { break };
            if due > net.now() {
                break;
            }
            let more = self.token(net, id, due);
            let Some(mut next) = self.agenda.peek_mut() else { break };
            if more && !self.pace.gap.is_zero() {
                // The heap is put in order once, when this is dropped.
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
            let blocked = self.conn(id).is_some_and(|conn| !conn.unsent.is_empty());
            if blocked || self.token(net, id, now) {
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

impl<N: Net> Actor<N> for TruthServer {
    fn turn(&mut self, net: &mut N, ready: &[Ready]) -> Wake {
        for event in ready {
            match *event {
                Ready::Accepted(id) => self.accept(id),
                Ready::Readable(id) => self.receive(net, id),
                Ready::Writable(id) => self.write_on(net, id),
                Ready::Connected(_) | Ready::ConnectFailed(..) => {}
            }
        }
        self.send_due(net)
    }
}
