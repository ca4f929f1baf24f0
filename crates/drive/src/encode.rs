//! Makes bytes of requests before they are due, and keeps their identity.

use std::collections::{BTreeMap, VecDeque};

use inferometer_model::record::Record;
use inferometer_model::request::{BodyHasher, Request, Sampling};
use inferometer_model::source::{Follows, Source, Supply};
use inferometer_http::client::redact;
use inferometer_wire::dialect::Dialect;
use inferometer_wire::exchange::ResponseReader;
use inferometer_wire::http::request_head;

/// Where requests go and how they are dressed.
#[derive(Clone)]
pub struct Endpoint {
    /// How the server is spoken to.
    pub dialect: &'static dyn Dialect,
    /// The `host` header.
    pub authority: String,
    /// The path, prefix included.
    pub path: String,
    /// Further headers: the content's type, the authorization. Never logged.
    pub headers: Vec<(String, String)>,
    /// The model, as the server knows it.
    pub model: String,
}

impl Endpoint {
    /// A text without the values of headers that may be secret, which a server may quote.
    #[must_use]
    pub fn redact(&self, text: &str) -> String {
        redact(&self.headers, text)
    }
}

/// A request as bytes, and what the record keeps of it.
pub(crate) struct Encoded {
    pub bytes: Vec<u8>,
    /// What will read the answer; some dialects must know the prompt to find the output in it.
    pub reader: ResponseReader,
    pub asked: Asked,
    /// The conversation that it is of.
    pub conversation: u32,
}

/// What the record of a request keeps of what was asked.
#[derive(Clone)]
pub(crate) struct Asked {
    class: Option<Box<str>>,
    input: u32,
    pub output: u32,
    counted_input: Option<u32>,
}

impl Asked {
    pub fn of(request: &Request) -> Self {
        Self {
            class: request.class.clone(),
            input: request.input_tokens,
            output: request.output_tokens,
            counted_input: request.counted_tokens,
        }
    }

    /// Puts it into the record of the request.
    pub fn tell(&self, record: &mut Record) {
        record.class.clone_from(&self.class);
        record.asked_input = self.input;
        record.asked_output = self.output;
        record.prompt_tokens_tokenizer = self.counted_input;
    }
}

/// What the encoder has to say when asked for a request.
pub(crate) enum Next {
    Request(Box<Encoded>),
    /// None until a request in flight has ended.
    Wait,
    Exhausted,
    /// The dialect cannot say this request.
    Unspeakable(String),
}

/// Draws requests from a source and encodes them ahead of time.
pub struct Encoder {
    source: Box<dyn Source>,
    endpoint: Endpoint,
    sampling: Sampling,
    keep_text: bool,
    queue: VecDeque<Box<Encoded>>,
    queued_bytes: usize,
    /// Conversations that the source has begun.
    conversations: u32,
    /// The next turn of conversations whose last one has ended.
    turns: BTreeMap<u32, Box<Encoded>>,
    hasher: BodyHasher,
    stopped: Option<Stop>,
    /// Requests that the source gave and the dialect cannot say.
    unspeakable: Vec<Asked>,
}

#[derive(Clone)]
enum Stop {
    Exhausted,
    Unspeakable(String),
}

/// The most that is encoded ahead.
const AHEAD_REQUESTS: usize = 4_096;
const AHEAD_BYTES: usize = 64 << 20;

impl Encoder {
    /// Whether answers are asked for as streams.
    #[must_use]
    pub fn is_streamed(&self) -> bool {
        self.sampling.stream
    }

    /// Encodes what `source` supplies. With `keep_text`, the output of each request is kept until
    /// it is recorded.
    #[must_use]
    pub fn new(
        source: Box<dyn Source>,
        endpoint: Endpoint,
        sampling: Sampling,
        keep_text: bool,
    ) -> Self {
        Self {
            source,
            endpoint,
            sampling,
            keep_text,
            queue: VecDeque::new(),
            queued_bytes: 0,
            conversations: 0,
            turns: BTreeMap::new(),
            hasher: BodyHasher::new(),
            stopped: None,
            unspeakable: Vec::new(),
        }
    }

    /// Encodes up to `count` requests ahead. Returns whether there may be more to do.
    pub(crate) fn ahead(&mut self, count: usize) -> bool {
        for _ in 0..count {
            let full = self.queue.len() >= AHEAD_REQUESTS || self.queued_bytes >= AHEAD_BYTES;
            if full || !self.draw() {
                return false;
            }
        }
        true
    }

    /// The next request, or the next turn of a conversation; encoded now if it was not before.
    pub(crate) fn next(&mut self, of: Option<u32>) -> Next {
        if let Some(conversation) = of {
            // Another conversation's turn is never sent in the place of one that is not there.
            return match (self.turns.remove(&conversation), &self.stopped) {
                (Some(turn), _) => Next::Request(turn),
                (None, Some(Stop::Unspeakable(why))) => Next::Unspeakable(why.clone()),
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
            Some(Stop::Unspeakable(why)) => Next::Unspeakable(why.clone()),
        }
    }

    /// Tells the source that a request ended. The turn that follows it is encoded at once, ahead
    /// of its due time; turns that will not be sent are returned.
    pub(crate) fn ended(&mut self, of: u32, record: &Record, answer: &str) -> Vec<Asked> {
        match self.source.ended(of, record, answer) {
            Follows::Nothing => {}
            Follows::Turn(request) => match self.encode(&request, of) {
                Ok(encoded) => {
                    self.turns.insert(of, encoded);
                }
                Err(why) => self.give_up(&request, why),
            },
            Follows::Skipped(requests) => return requests.iter().map(Asked::of).collect(),
        }
        Vec::new()
    }

    /// A request that will never be sent.
    pub(crate) fn unsent(&mut self) -> Option<Asked> {
        if let Some(asked) = self.unspeakable.pop() {
            return Some(asked);
        }
        let encoded =
            self.turns.pop_first().map(|(_, turn)| turn).or_else(|| self.queue.pop_front());
        encoded.map_or_else(|| self.source.unsent().as_ref().map(Asked::of), |it| Some(it.asked))
    }

    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The identity of all bodies so far.
    pub(crate) fn body_hash(&self) -> String {
        self.hasher.clone().finish()
    }

    /// Encodes one more; false when the source gives none.
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
        self.unspeakable.push(Asked::of(request));
        self.stopped = Some(Stop::Unspeakable(why));
    }

    fn encode(&mut self, request: &Request, of: u32) -> Result<Box<Encoded>, String> {
        let Endpoint { dialect, authority, path, headers, model } = &self.endpoint;
        let body =
            dialect.body(request, &self.sampling, model).map_err(|error| error.to_string())?;
        self.hasher.body(&body);
        let stream = self.sampling.stream;
        let reader = ResponseReader::new(*dialect, &request.prompt, stream, self.keep_text);
        let mut bytes = request_head("POST", path, authority, headers, Some(body.len()));
        bytes.extend_from_slice(&body);
        Ok(Box::new(Encoded { bytes, reader, asked: Asked::of(request), conversation: of }))
    }
}
