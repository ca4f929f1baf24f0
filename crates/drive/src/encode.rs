//! Encodes requests before they are due, and hashes their bodies. It sends nothing.

use std::collections::{BTreeMap, VecDeque};

use inferometer_model::record::Record;
use inferometer_model::request::{BodyHasher, Request, Sampling};
use inferometer_model::secrets::Secrets;
use inferometer_model::source::{Follows, Source, Supply};
use inferometer_wire::dialect::Dialect;
use inferometer_wire::exchange::ResponseReader;
use inferometer_wire::http::request_head;

/// Where requests are sent, and what every one of them carries.
#[derive(Clone)]
pub struct Endpoint {
    /// The server's dialect.
    pub dialect: &'static Dialect,
    /// The `host` header.
    pub authority: String,
    /// The path, prefix included.
    pub path: String,
    /// Further headers: content type, authorization. Never logged.
    pub headers: Vec<(String, String)>,
    /// The model, as the server knows it.
    pub model: String,
}

impl Endpoint {
    /// Whether a connection may carry several requests: not where the user's header `Connection: close`
    /// asks for one each.
    pub fn keeps_connections(&self) -> bool {
        let closes = |(name, value): &(String, String)| {
            name.eq_ignore_ascii_case("connection") && value.eq_ignore_ascii_case("close")
        };
        !self.headers.iter().any(closes)
    }
}

/// An encoded request.
pub(crate) struct Encoded {
    pub bytes: Vec<u8>,
    /// Reads the response; some dialects need the prompt to find the output in it.
    pub reader: ResponseReader,
    pub info: RequestInfo,
    /// The conversation that it belongs to.
    pub conversation: u32,
}

/// The facts of a request that its record keeps.
#[derive(Clone, PartialEq)]
pub(crate) struct RequestInfo {
    class: Option<Box<str>>,
    input: u32,
    pub output: u32,
    output_limit: Option<u32>,
    counted_input: Option<u32>,
}

impl RequestInfo {
    pub fn of(request: &Request, sampling: &Sampling) -> Self {
        Self {
            class: request.class.clone(),
            input: request.input_tokens,
            output: request.output_tokens,
            output_limit: request.output_limit(sampling),
            counted_input: request.counted_tokens,
        }
    }

    /// Writes them into the request's record.
    pub fn write_to(&self, record: &mut Record) {
        record.class.clone_from(&self.class);
        record.asked_input = self.input;
        record.asked_output = self.output;
        record.output_limit = self.output_limit;
        record.prompt_tokens_tokenizer = self.counted_input;
    }
}

/// What the encoder returns when the driver needs a request.
pub(crate) enum Next {
    Request(Box<Encoded>),
    /// None until a request in flight has ended.
    Wait,
    Exhausted,
    /// The dialect does not support this request; why.
    Unsupported(String),
}

/// Draws requests from a source and encodes them ahead of time.
pub struct Encoder {
    source: Box<dyn Source>,
    endpoint: Endpoint,
    /// The secrets in its headers, which a server may quote.
    secrets: Secrets,
    sampling: Sampling,
    keep_text: bool,
    queue: VecDeque<Box<Encoded>>,
    queued_bytes: usize,
    /// Conversations begun so far.
    conversations: u32,
    /// The next turn of conversations whose last one has ended.
    turns: BTreeMap<u32, Box<Encoded>>,
    hasher: BodyHasher,
    stopped: Option<Stop>,
    /// Requests of the source that the dialect does not support.
    unsupported: Vec<RequestInfo>,
}

#[derive(Clone)]
enum Stop {
    Exhausted,
    Unsupported(String),
}

/// Most requests and bytes encoded ahead.
const MAX_REQUESTS_AHEAD: usize = 4_096;
const MAX_BYTES_AHEAD: usize = 64 << 20;

impl Encoder {
    /// Whether responses are streams.
    pub fn is_streamed(&self) -> bool {
        self.sampling.stream
    }

    /// Encodes the requests of `source`. With `keep_text`, the output of each request is kept until it
    /// is recorded.
    pub fn new(
        source: Box<dyn Source>,
        endpoint: Endpoint,
        sampling: Sampling,
        keep_text: bool,
    ) -> Self {
        Self {
            source,
            secrets: Secrets::of_headers(&endpoint.headers),
            endpoint,
            sampling,
            keep_text,
            queue: VecDeque::new(),
            queued_bytes: 0,
            conversations: 0,
            turns: BTreeMap::new(),
            hasher: BodyHasher::new(),
            stopped: None,
            unsupported: Vec::new(),
        }
    }

    /// Encodes up to `count` requests ahead. Returns whether more can be encoded now.
    pub(crate) fn ahead(&mut self, count: usize) -> bool {
        for _ in 0..count {
            let full =
                self.queue.len() >= MAX_REQUESTS_AHEAD || self.queued_bytes >= MAX_BYTES_AHEAD;
            if full || !self.draw() {
                return false;
            }
        }
        true
    }

    /// The next request, or the next turn of a conversation; encoded now if it was not before.
    pub(crate) fn next(&mut self, of: Option<u32>) -> Next {
        if let Some(conversation) = of {
            // A missing turn is never replaced by another conversation's.
            return match (self.turns.remove(&conversation), &self.stopped) {
                (Some(turn), _) => Next::Request(turn),
                (None, Some(Stop::Unsupported(why))) => Next::Unsupported(why.clone()),
                (None, _) => Next::Exhausted,
            };
        }
        if self.queue.is_empty() {
            self.draw();
        }
        if let Some(encoded) = self.queue.pop_front() {
            self.queued_bytes -= encoded.bytes.len();
            return Next::Request(encoded);
        }
        match &self.stopped {
            None => Next::Wait,
            Some(Stop::Exhausted) => Next::Exhausted,
            Some(Stop::Unsupported(why)) => Next::Unsupported(why.clone()),
        }
    }

    /// Notifies the source that a request ended. The turn that follows is encoded at once, ahead of
    /// its due time; turns that will not be sent are returned.
    pub(crate) fn ended(&mut self, of: u32, record: &Record, answer: &str) -> Vec<RequestInfo> {
        match self.source.ended(of, record, answer) {
            Follows::Nothing => {}
            Follows::Turn(request) => match self.encode(&request, of) {
                Ok(encoded) => {
                    self.turns.insert(of, encoded);
                }
                Err(why) => self.give_up(&request, why),
            },
            Follows::Skipped(requests) => {
                return requests.iter().map(|request| self.info(request)).collect();
            }
        }
        Vec::new()
    }

    /// A request that will never be sent.
    pub(crate) fn unsent(&mut self) -> Option<RequestInfo> {
        if let Some(info) = self.unsupported.pop() {
            return Some(info);
        }
        let encoded =
            self.turns.pop_first().map(|(_, turn)| turn).or_else(|| self.queue.pop_front());
        match encoded {
            Some(encoded) => Some(encoded.info),
            None => self.source.unsent().map(|request| self.info(&request)),
        }
    }

    fn info(&self, request: &Request) -> RequestInfo {
        RequestInfo::of(request, &self.sampling)
    }

    /// The hash of all bodies so far.
    pub(crate) fn body_hash(&self) -> String {
        self.hasher.clone().finish()
    }

    /// Encodes one more; false if the source has none.
    fn draw(&mut self) -> bool {
        if self.stopped.is_some() {
            return false;
        }
        match self.source.next() {
            Supply::Request(request) => match self.encode(&request, self.conversations) {
                Ok(encoded) => {
                    self.conversations += 1;
                    self.queued_bytes += encoded.bytes.len();
                    self.queue.push_back(encoded);
                    true
                }
                Err(why) => {
                    self.give_up(&request, why);
                    false
                }
            },
            Supply::Wait => false,
            Supply::Exhausted => {
                self.stopped = Some(Stop::Exhausted);
                false
            }
        }
    }

    fn give_up(&mut self, request: &Request, why: String) {
        self.unsupported.push(self.info(request));
        self.stopped = Some(Stop::Unsupported(why));
    }

    fn encode(&mut self, request: &Request, of: u32) -> Result<Box<Encoded>, String> {
        let Endpoint { dialect, authority, path, headers, model } = &self.endpoint;
        let body =
            dialect.body(request, &self.sampling, model).map_err(|error| error.to_string())?;
        self.hasher.body(&body);
        let stream = self.sampling.stream;
        let reader = ResponseReader::new(dialect, &request.prompt, stream, self.keep_text)
            .with_secrets(self.secrets.clone());
        let mut bytes = request_head("POST", path, authority, headers, Some(body.len()));
        bytes.extend_from_slice(&body);
        Ok(Box::new(Encoded { bytes, reader, info: self.info(request), conversation: of }))
    }
}
