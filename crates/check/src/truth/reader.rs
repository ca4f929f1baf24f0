//! The bare reader: a client that sends requests in a closed loop and counts token events. It does not parse events:
//! it only searches for fixed texts. It records only the time at which it read the first token of each request. So
//! hardly any client on this machine can have a smaller CPU time or a smaller delay.

use std::net::SocketAddr;

use inferometer_model::Nanos;
use inferometer_net::{Actor, Close, ConnId, Net, ReadResult, Ready, Wake};
use inferometer_wire::http::request_head;
use memchr::memmem::Finder;
use serde_json::json;

const READ_BUFFER: usize = 256 << 10;

/// Sends a given number of requests in a closed loop and counts the token events of the responses.
pub struct BareReader {
    server: SocketAddr,
    request: Vec<u8>,
    streams: u32,
    requests: u32,
    left: u32,
    done: u32,
    tokens: u64,
    /// By connection slot: when the current request was sent; `None` after its first token.
    sent: Vec<Option<Nanos>>,
    ttft_ms: Vec<f64>,
    begun: bool,
    failed: Option<String>,
    /// By connection slot: the received bytes of an event that is not complete yet.
    tails: Vec<Vec<u8>>,
    buffer: Vec<u8>,
    text: Finder<'static>,
    end: Finder<'static>,
    boundary: Finder<'static>,
}

impl BareReader {
    /// A reader that sends `requests` requests for `tokens` tokens each, with `streams` requests in flight.
    pub fn new(server: SocketAddr, streams: u32, requests: u32, tokens: u32) -> Self {
        let body = json!({
            "model": "truth", "prompt": "a b c d e f g h", "max_tokens": tokens, "stream": true,
        })
        .to_string();
        let authority = server.to_string();
        let mut request =
            request_head("POST", "/v1/completions", &authority, &[], Some(body.len()));
        request.extend_from_slice(body.as_bytes());
        Self {
            server,
            request,
            streams,
            requests,
            left: requests,
            done: 0,
            tokens: 0,
            sent: Vec::new(),
            ttft_ms: Vec::new(),
            begun: false,
            failed: None,
            tails: Vec::new(),
            buffer: vec![0; READ_BUFFER],
            text: Finder::new(b"\"text\":\" "),
            end: Finder::new(b"data: [DONE]"),
            boundary: Finder::new(b"\n\n"),
        }
    }

    /// Returns the number of token events, and the TTFT of each request in milliseconds.
    ///
    /// # Errors
    /// If a connection failed, was closed, or accepted only a part of a request. The error is a message for users.
    pub fn read(self) -> Result<(u64, Vec<f64>), String> {
        self.failed.map_or(Ok((self.tokens, self.ttft_ms)), Err)
    }

    fn connect<N: Net>(&mut self, net: &mut N) {
        for _ in 0..self.streams.min(self.left) {
            if let Err(error) = net.connect(&self.server.into()) {
                self.failed = Some(format!("cannot connect: {error}"));
            }
        }
    }

    fn send<N: Net>(&mut self, net: &mut N, conn: ConnId) {
        if self.left == 0 {
            return net.close(conn, Close::Gracefully);
        }
        self.left -= 1;
        if self.sent.len() <= conn.slot() {
            self.sent.resize(conn.slot() + 1, None);
        }
        self.sent[conn.slot()] = Some(net.now());
        match net.write(conn, &self.request) {
            Ok(count) if count == self.request.len() => {}
            Ok(_) => {
                self.failed = Some("a connection accepted only a part of a request".to_owned());
            }
            Err(error) => self.failed = Some(format!("cannot send: {error}")),
        }
    }

    fn receive<N: Net>(&mut self, net: &mut N, conn: ConnId) {
        let (count, user) = match net.read(conn, &mut self.buffer) {
            ReadResult::Data(arrived) => (arrived.bytes, arrived.user),
            ReadResult::Empty => return,
            ReadResult::Closed => return self.failed = Some("the server disconnected".to_owned()),
            ReadResult::Failed(error) => return self.failed = Some(format!("reading: {error}")),
        };
        if self.tails.len() <= conn.slot() {
            self.tails.resize_with(conn.slot() + 1, Vec::new);
        }
        let tail = &mut self.tails[conn.slot()];
        tail.extend_from_slice(&self.buffer[..count]);
        let (mut from, mut ended) = (0, false);
        while let Some(length) = self.boundary.find(&tail[from..]) {
            let event = &tail[from..from + length];
            from += length + 2;
            if self.text.find(event).is_some() {
                self.tokens += 1;
                let sent = self.sent.get_mut(conn.slot()).and_then(Option::take);
                self.ttft_ms.extend(sent.map(|sent| user.ms_after(sent)));
            }
            ended |= self.end.find(event).is_some();
        }
        tail.drain(..from);
        if ended {
            self.done += 1;
            self.send(net, conn);
        }
    }
}

impl<N: Net> Actor<N> for BareReader {
    fn turn(&mut self, net: &mut N, ready: &[Ready]) -> Wake {
        if !std::mem::replace(&mut self.begun, true) {
            self.connect(net);
        }
        for event in ready {
            match *event {
                Ready::Connected(conn) => self.send(net, conn),
                Ready::Readable(conn) => self.receive(net, conn),
                Ready::ConnectFailed(_, ref error) => {
                    self.failed = Some(format!("cannot connect: {error}"));
                }
                Ready::Accepted(_) | Ready::Writable(_) => {}
            }
        }
        let finished = self.done == self.requests || self.failed.is_some();
        if finished { Wake::Done } else { Wake::WhenReady }
    }
}
