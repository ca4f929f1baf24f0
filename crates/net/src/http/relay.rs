//! Passes the requests of clients on to one server, and shows requests and answers to an observer. Bytes of an answer go
//! to the client before anything else is done with them. There is one thread for each connection.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::{sync::Arc, sync::mpsc::Sender, time::Duration};

use inferometer_model::Nanos;
use inferometer_wire::http::{
    CONTINUE, HttpError, MessageEnd, Request, RequestParser, ResponseParser, request_head,
    response_head,
};
use serde_json::{Value, json};

use super::client::{Client, Stream, waiting};
use super::pages::ServeError;
use crate::{monotonic_now, spawn};

/// How often the relay checks whether a client that waits for its server is still there.
const CHECK: Duration = Duration::from_millis(50);
/// The most bytes of an answer that are shown. The rest is passed on only.
const MAX_SHOWN_BYTES: usize = 64 << 20;
/// Fields of a request that concern one connection only, or an encoding that an observer cannot read.
const NOT_PASSED: [&str; 11] = [
    "host", "connection", "content-length", "transfer-encoding", "expect", "upgrade", "keep-alive",
    "te", "trailer", "proxy-connection", "accept-encoding",
];

/// What an observer is shown. `id` is the same for a request and its answer.
#[derive(Debug)]
pub enum Seen {
    /// A whole request, which arrived at this instant and was passed on.
    Request(u64, Nanos, Request),
    /// The answer to a request, at its end.
    Answer(u64, Answer),
}

/// An answer as it was passed on.
#[derive(Debug)]
pub struct Answer {
    /// The bytes, with the head.
    pub bytes: Vec<u8>,
    /// When each read ended, and the number of bytes so far.
    pub reads: Vec<(Nanos, usize)>,
    /// When it ended.
    pub at: Nanos,
    /// How it ended.
    pub end: AnswerEnd,
}

/// How an answer ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerEnd {
    /// As HTTP requires.
    Complete,
    /// The server could not be reached, or its answer broke off, for this reason.
    Broken(String),
    /// The client left.
    ClientLeft,
    /// It is longer than what is shown.
    TooLong,
}

/// Listens on an address, and passes all requests on to a server until the process ends. Only answers whose requests
/// `keeps` chooses are shown with their bytes. With `ask_usage`, streams of completions are asked for their token counts.
///
/// # Errors
/// If the relay cannot listen there, or no thread can be started.
pub fn relay(
    listen: SocketAddr,
    server: Client,
    ask_usage: bool,
    keeps: fn(&Request) -> bool,
    seen: Sender<Seen>,
) -> Result<SocketAddr, ServeError> {
    let refused = |error| ServeError::listen(listen, &error);
    let listener = TcpListener::bind(listen).map_err(refused)?;
    let at = listener.local_addr().map_err(refused)?;
    let relay = Arc::new(Relay { server, ask_usage, keeps, ids: AtomicU64::new(0) });
    let accept = move || {
        for near in listener.incoming() {
            let Ok(near) = near else {
                // Without a free descriptor, wait for one.
                std::thread::park_timeout(CHECK);
                continue;
            };
            let (relay, seen) = (Arc::clone(&relay), seen.clone());
            // Without a thread the connection is closed, so the client is told.
            drop(spawn(move || relay.connection(near, &seen)));
        }
    };
    spawn(accept).map_err(ServeError::Sockets)?;
    Ok(at)
}

struct Relay {
    server: Client,
    ask_usage: bool,
    keeps: fn(&Request) -> bool,
    ids: AtomicU64,
}

impl Relay {
    /// Passes on the requests of one client, one after the other. An error of the client's side ends its connection.
    fn connection(&self, near: TcpStream, seen: &Sender<Seen>) -> io::Result<()> {
        near.set_nodelay(true)?;
        let mut client = Near { stream: near, buffer: vec![0; 64 << 10] };
        let (mut parser, mut far) = (RequestParser::default(), None);
        while let Some(request) = client.next_request(&mut parser)? {
            let (at, id) = (monotonic_now(), self.ids.fetch_add(1, Ordering::Relaxed));
            let (keeps_alive, is_kept) = (request.keep_alive, (self.keeps)(&request));
            let parser = match request.method.as_str() {
                "HEAD" => ResponseParser::to_head_request(),
                _ => ResponseParser::new(),
            };
            let sent = self.send(far.take(), &request);
            let (bytes, reads, end) = (Vec::new(), Vec::new(), AnswerEnd::Complete);
            let mut answer = Answer { bytes, reads, at, end };
            // The observer may be gone at the end of the process.
            let _ = seen.send(Seen::Request(id, at, request));
            match sent {
                Ok(mut stream) => {
                    if answer.pass(&mut stream, &mut client, parser, is_kept) {
                        far = Some(stream);
                    }
                }
                Err(error) => {
                    client.stream.write_all(&bad_gateway(&error))?;
                    answer.end = AnswerEnd::Broken(error);
                }
            }
            answer.at = monotonic_now();
            let _ = seen.send(Seen::Answer(id, answer));
            if !keeps_alive || far.is_none() {
                break;
            }
        }
        Ok(())
    }

    /// Sends a request to the server, on the connection of the request before it if that is still open.
    fn send(&self, far: Option<Stream>, request: &Request) -> Result<Stream, String> {
        let server = &self.server;
        let (before, authorization) = server.forwarding();
        let is_passed = |name: &str| !NOT_PASSED.iter().any(|it| name.eq_ignore_ascii_case(it));
        let fields = request.headers.iter().filter(|(name, _)| is_passed(name)).cloned();
        let fields: Vec<(String, String)> = fields.chain(authorization).collect();
        let prefix = &server.url.prefix;
        let has_prefix =
            request.target.strip_prefix(&**prefix).is_some_and(|it| it.starts_with('/'));
        let path = if has_prefix { "" } else { prefix };
        let path = format!("{before}{path}{}", request.target);
        let asked = if self.ask_usage { usage_asked(request) } else { None };
        let (at, added) = asked.unwrap_or_default();
        let (begin, rest) = request.body.split_at(at);
        let length = request.body.len() + added.len();
        let length = (length > 0 || request.method == "POST").then_some(length);
        let authority = server.url.host_field();
        let mut bytes = request_head(&request.method, &path, &authority, &fields, length);
        [begin, added.as_bytes(), rest].iter().for_each(|part| bytes.extend_from_slice(part));
        let far = far.filter(Stream::is_open).map_or_else(|| Stream::connect(server), Ok);
        let mut far = far.map_err(|error| error.to_string())?;
        far.set_read_timeout(CHECK).map_err(|error| error.to_string())?;
        match far.write_all(&bytes) {
            Ok(()) => Ok(far),
            // The server may have refused a large body with an answer, before it read all of it.
            Err(error)
                if [ErrorKind::BrokenPipe, ErrorKind::ConnectionReset].contains(&error.kind()) =>
            {
                Ok(far)
            }
            Err(error) => Err(format!("{}: the request was not sent: {error}", server.url)),
        }
    }
}

/// Where a text that asks a stream for its token counts belongs in a body, and the text; `None` if the body asks for no
/// stream, or has its own `stream_options`, or the API always states the counts.
fn usage_asked(request: &Request) -> Option<(usize, &'static str)> {
    let path = request.target.split('?').next().unwrap_or_default();
    if !path.ends_with("/completions") {
        return None;
    }
    let body: Value = serde_json::from_slice(&request.body).ok()?;
    let lacks = body["stream"] == true && body.get("stream_options").is_none();
    let open = request.body.iter().position(|byte| *byte == b'{').filter(|_| lacks)?;
    Some((open + 1, "\"stream_options\":{\"include_usage\":true},"))
}

/// The connection of a client, and memory for a read.
struct Near {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Near {
    /// The next request; `None` after the last one.
    fn next_request(&mut self, parser: &mut RequestParser) -> io::Result<Option<Request>> {
        let mut count = 0;
        loop {
            let parsed = parser.push(&self.buffer[..count]);
            if parser.take_wants_continue() {
                self.stream.write_all(CONTINUE)?;
            }
            match parsed {
                Ok(Some(request)) => return Ok(Some(request)),
                Ok(None) => count = self.stream.read(&mut self.buffer)?,
                Err(error) => {
                    let is_long = matches!(error, HttpError::BodyTooLong { .. });
                    let status = if is_long { 413 } else { 400 };
                    self.stream.write_all(&refusal(status, &error.to_string()))?;
                    return Ok(None);
                }
            }
            if count == 0 {
                return Ok(None);
            }
        }
    }
}

/// The answer to a request that could not be passed on.
fn bad_gateway(error: &str) -> Vec<u8> {
    refusal(502, &format!("the relay cannot reach the server: {error}"))
}

fn refusal(status: u16, message: &str) -> Vec<u8> {
    let body = json!({ "error": { "message": message, "type": "relay_error" } }).to_string();
    let length = body.len().to_string();
    let fields = [
        ("content-type", "application/json"),
        ("content-length", &length),
        ("connection", "close"),
    ];
    [response_head(status, &fields), body.into_bytes()].concat()
}

impl Answer {
    /// Passes an answer on. Returns whether both connections can be used again.
    fn pass(
        &mut self,
        far: &mut Stream,
        near: &mut Near,
        mut parser: ResponseParser,
        is_kept: bool,
    ) -> bool {
        let mut is_empty = true;
        let broken = loop {
            if parser.is_done() {
                return parser.keep_alive();
            }
            match far.read(&mut near.buffer) {
                Ok(0) if parser.finish() != MessageEnd::Truncated => return false,
                Ok(0) => break "the answer broke off: the server closed the connection".to_owned(),
                Ok(count) => {
                    is_empty = false;
                    let (at, bytes) = (monotonic_now(), &near.buffer[..count]);
                    let passed = near.stream.write_all(bytes);
                    if is_kept {
                        self.keep(at, bytes);
                    }
                    if passed.is_err() {
                        self.end = AnswerEnd::ClientLeft;
                        return false;
                    }
                    if let Err(error) = parser.push(bytes, &mut |_| ()) {
                        break error.to_string();
                    }
                }
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                        if waiting(&near.stream).is_none() {
                            self.end = AnswerEnd::ClientLeft;
                            return false;
                        }
                    }
                    ErrorKind::Interrupted => {}
                    _ => break error.to_string(),
                },
            }
        };
        if is_empty {
            // If the client is gone, too, nobody is left to be told.
            let _ = near.stream.write_all(&bad_gateway(&broken));
        }
        self.end = AnswerEnd::Broken(broken);
        false
    }

    fn keep(&mut self, at: Nanos, bytes: &[u8]) {
        if self.bytes.len() + bytes.len() > MAX_SHOWN_BYTES {
            self.end = AnswerEnd::TooLong;
            return;
        }
        self.bytes.extend_from_slice(bytes);
        self.reads.push((at, self.bytes.len()));
    }
}
