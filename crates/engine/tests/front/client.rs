//! A server and clients on the virtual network. This module does not check the answers.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use inferometer_engine::serve::{Front, FrontConfig};
use inferometer_engine::{Engine, EngineConfig};
use inferometer_model::request::{Prompt, Request, Sampling};
use inferometer_model::time::Nanos;
use inferometer_net::http::Server;
use inferometer_net::virtual_net::{VirtualNet, hosts, run};
use inferometer_net::{Actor, Close, ConnId, Net, ReadResult, Ready, Wake};
use inferometer_wire::dialect::dialect;
use inferometer_wire::exchange::ResponseReader;
use inferometer_wire::http::{Piece, ResponseParser, request_head};
use serde_json::Value;

use crate::words::Words;

/// The data that a client sends and receives on one connection.
#[derive(Default)]
pub struct Call {
    pub at: Nanos,
    pub send: Vec<u8>,
    /// Further bytes, and when to send them.
    pub later: Option<(Nanos, Vec<u8>)>,
    /// When the client closes the connection.
    pub leave: Option<Nanos>,
    /// The number of responses after which the call is complete.
    pub expected: usize,
    pub conn: Option<ConnId>,
    pub reads: Vec<(Nanos, Vec<u8>)>,
    pub responses: usize,
    pub parser: ResponseParser,
    pub end: Option<&'static str>,
}

struct Client {
    to: SocketAddr,
    calls: Vec<Call>,
}

/// The maximum duration of a test in virtual time.
const DEADLINE: Nanos = Nanos(100_000_000_000);

impl Client {
    fn hear(call: &mut Call, net: &mut VirtualNet, conn: ConnId) {
        let mut buffer = vec![0; 1 << 16];
        match net.read(conn, &mut buffer) {
            ReadResult::Data(arrived) => {
                let mut rest = &buffer[..arrived.bytes];
                call.reads.push((arrived.user, rest.to_vec()));
                // Bytes are parsed one by one, to find the end of each response regardless of the following bytes.
                while !rest.is_empty() {
                    if call.parser.push(&rest[..1], &mut |_| ()).is_err() {
                        break;
                    }
                    rest = &rest[1..];
                    if call.parser.is_done() {
                        call.responses += 1;
                        call.parser = ResponseParser::new();
                    }
                }
                if call.responses == call.expected {
                    call.end = Some("complete");
                    net.close(conn, Close::Gracefully);
                }
            }
            ReadResult::Empty => {}
            ReadResult::Closed | ReadResult::Failed(_) => {
                call.end = Some("closed");
                net.close(conn, Close::Gracefully);
            }
        }
    }
}

impl Actor<VirtualNet> for Client {
    fn turn(&mut self, net: &mut VirtualNet, ready: &[Ready]) -> Wake {
        let now = net.now();
        let mut wake = Wake::At(DEADLINE);
        for call in &mut self.calls {
            match call.conn {
                None if call.at <= now => {
                    let conn = net.connect(&self.to.into()).expect("the server listens");
                    net.write(conn, &call.send).expect("the server reads");
                    call.conn = Some(conn);
                }
                None => wake = wake.or_at(call.at),
                Some(_) => {}
            }
            match (&call.later, call.conn) {
                (Some((at, _)), _) if *at > now => wake = wake.or_at(*at),
                (Some((_, more)), Some(conn)) => {
                    net.write(conn, more).expect("the server reads");
                    call.later = None;
                }
                _ => {}
            }
            match (call.leave, call.conn) {
                (Some(leave), _) if leave > now => wake = wake.or_at(leave),
                (Some(_), Some(conn)) if call.end.is_none() => {
                    call.end = Some("left");
                    net.close(conn, Close::Gracefully);
                }
                _ => {}
            }
        }
        for ready in ready {
            if let Ready::Readable(conn) = ready
                && let Some(call) = self.calls.iter_mut().find(|call| call.conn == Some(*conn))
                && call.end.is_none()
            {
                Self::hear(call, net, *conn);
            }
        }
        let all_ended = self.calls.iter().all(|call| call.end.is_some());
        if all_ended || now >= DEADLINE { Wake::Done } else { wake }
    }
}

pub fn engine_config() -> EngineConfig {
    EngineConfig::of_model("chatglm3-6b").expect("a known model")
}

/// A server whose event loop wakes up late, as on a busy machine.
struct Late {
    front: Server<Front>,
    by: Duration,
}

impl Actor<VirtualNet> for Late {
    fn turn(&mut self, net: &mut VirtualNet, ready: &[Ready]) -> Wake {
        match self.front.turn(net, ready) {
            Wake::At(at) => Wake::At(at + self.by),
            other => other,
        }
    }
}

/// Starts a new server and executes the calls.
pub fn with_front(change: impl FnOnce(&mut FrontConfig), calls: Vec<Call>) -> Vec<Call> {
    with_late_front(Duration::ZERO, change, calls)
}

pub fn with_late_front(
    by: Duration,
    change: impl FnOnce(&mut FrontConfig),
    calls: Vec<Call>,
) -> Vec<Call> {
    let mut config = FrontConfig::new("chatglm3-6b");
    config.chat_overhead_tokens = 5;
    change(&mut config);
    with_engine(engine_config(), config, by, calls)
}

pub fn with_engine(
    engine: EngineConfig,
    config: FrontConfig,
    by: Duration,
    calls: Vec<Call>,
) -> Vec<Call> {
    let engine = Engine::new(engine).expect("the defaults run");
    let front = Front::new(engine, config, Arc::new(Words::new())).expect("a front");
    let mut late = Late { front: Server::new(front), by };
    let mut hosts = hosts(2);
    let (mut server, client) = (hosts.remove(1), hosts.remove(0));
    let to = server.listen("127.0.0.1:0".parse().expect("an address")).expect("a free port");
    let mut caller = Client { to, calls };
    run(&mut [(&mut caller, client), (&mut late, server)]);
    caller.calls
}

pub fn bytes(method: &str, path: &str, body: Option<&Value>) -> Vec<u8> {
    let body = body.map(Value::to_string);
    let mut bytes = request_head(method, path, "engine", &[], body.as_ref().map(String::len));
    bytes.extend(body.unwrap_or_default().into_bytes());
    bytes
}

pub fn call(method: &str, path: &str, body: Option<&Value>) -> Call {
    Call { send: bytes(method, path, body), expected: 1, ..Call::default() }
}

/// Returns the status and the body of the only response.
pub fn response(call: &Call) -> (u16, String) {
    let (mut status, mut body) = (0, Vec::new());
    let mut parser = ResponseParser::new();
    for (_, read) in &call.reads {
        let mut sink = |piece: Piece<'_>| match piece {
            Piece::Head(head) => status = head.status,
            Piece::Body(bytes) => body.extend_from_slice(bytes),
            Piece::End => {}
        };
        parser.push(read, &mut sink).expect("HTTP");
    }
    (status, String::from_utf8(body).expect("UTF-8"))
}

pub fn ask(method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
    let calls = with_front(|_| (), vec![call(method, path, body)]);
    let (status, body) = response(&calls[0]);
    (status, serde_json::from_str(&body).unwrap_or(Value::String(body)))
}

pub const PROMPT: &str = "one two three four five six seven eight nine ten";

fn request(output_tokens: u32) -> Request {
    Request::new(Prompt::Text(PROMPT.to_owned()), 10, output_tokens)
}

fn sampling(stream: bool) -> Sampling {
    Sampling { temperature: 1.0, ignore_eos: true, stream, extra_body: serde_json::Map::new() }
}

/// Returns a call with a request in the API dialect `name`.
pub fn dialect_call(name: &str, stream: bool, output_tokens: u32) -> Call {
    let dialect = dialect(name).expect("a dialect");
    let body = dialect.body(&request(output_tokens), &sampling(stream), "chatglm3-6b", &[]);
    let body = body.expect("a body");
    let mut send = request_head("POST", dialect.path(stream), "engine", &[], Some(body.len()));
    send.extend(body);
    Call { send, expected: 1, ..Call::default() }
}

/// Returns a reader that has parsed the received bytes as a client of the API dialect `name`.
pub fn read_as(name: &str, stream: bool, call: &Call) -> ResponseReader {
    let dialect = dialect(name).expect("a dialect");
    let prompt = Prompt::Text(PROMPT.to_owned());
    let mut reader = ResponseReader::new(dialect, &prompt, stream, true);
    for (index, (_, bytes)) in call.reads.iter().enumerate() {
        reader.feed(index as u32, bytes);
    }
    if call.end == Some("closed") {
        reader.eof();
    }
    reader
}

pub const DIALECTS: [&str; 4] = ["openai-completions", "openai-chat", "vllm", "tgi"];
