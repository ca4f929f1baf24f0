//! Encodes requests before they are due, and hashes their bodies. This module sends nothing.

use std::collections::BTreeMap;

use inferometer_model::load::Share;
use inferometer_model::pooled::RERANK;
use inferometer_model::request::BodyHasher;
use inferometer_model::source::{Follows, Said, Supply};
use inferometer_model::trace_context::NO_TRACEPARENT;
use inferometer_model::{MediaSent, Record, Request, Sampling, Secrets, Source, SplitThink};
use inferometer_wire::dialect::{Dialect, FieldChange};
use inferometer_wire::{exchange::ResponseReader, http::request_head, structured::Forms};

mod info;

use crate::{SessionHeaders, outgoing::Outgoing, session::Session, window::Lookahead};

pub(crate) use info::RequestInfo;

/// Where requests are sent, and the values that all requests contain.
#[derive(Clone)]
pub struct Endpoint {
    /// The server's dialect.
    pub dialect: &'static Dialect,
    /// The `host` header.
    pub authority: String,
    /// The path of the request, including the path prefix of the target's address.
    pub path: String,
    /// Additional headers, such as content type and authorization. Never logged.
    pub headers: Vec<(String, String)>,
    /// The model's name on the server.
    pub model: String,
}

impl Endpoint {
    /// Whether a connection may be used for several requests. False if the user set the header `Connection:
    /// close`.
    pub fn keeps_connections(&self) -> bool {
        let closes = |(name, value): &(String, String)| {
            name.eq_ignore_ascii_case("connection") && value.eq_ignore_ascii_case("close")
        };
        !self.headers.iter().any(closes)
    }
}

/// An encoded request.
pub(crate) struct Encoded {
    pub outgoing: Outgoing,
    /// What its media are.
    pub media: MediaSent,
    /// The number of its inputs, if its answer is not generated text; otherwise 0.
    pub inputs: u32,
    /// Reads the response. For some dialects, the reader needs the prompt to find the output in the response.
    pub reader: ResponseReader,
    pub info: RequestInfo,
    /// The number of the request's conversation, and its place there. A request outside of a conversation has its own
    /// number here.
    pub of: (u32, u32),
    /// The session that the request belongs to, if there is one.
    pub session: Option<Session>,
}

/// What the encoder returns when the driver needs a request.
pub(crate) enum NextRequest {
    Request(Box<Encoded>),
    /// No request now. Either the source waits for the end of a request in flight or for a generated request, or
    /// too many encoded requests wait for event loops that are far behind.
    Wait,
    Exhausted,
    /// Why the dialect does not support this request.
    Unsupported(String),
}

/// Takes requests from a source and encodes them ahead of time.
pub struct Encoder {
    source: Box<dyn Source>,
    endpoint: Endpoint,
    /// The endpoints of the other servers, if there are several. The head of a request is then encoded when
    /// its server is known.
    others: Vec<Endpoint>,
    sessions: SessionHeaders,
    /// Whether the requests are turns of conversations.
    talks: bool,
    /// The secrets in the headers, which a server may quote.
    secrets: Secrets,
    sampling: Sampling,
    changes: Vec<FieldChange>,
    split_think: Option<SplitThink>,
    forms: Forms,
    keep_text: bool,
    /// Requests that are encoded before they are due, by their numbers. Event loops take them in any order.
    ahead: Lookahead<Box<Encoded>>,
    ahead_bytes: usize,
    /// The requests of conversations that wait for nothing but their due time, by their conversations and places.
    turns: BTreeMap<(u32, u32), Box<Encoded>>,
    hasher: BodyHasher,
    /// Which requests of the source are sent. The bodies of the other requests are only hashed.
    share: Share,
    /// How many requests were taken from the source, without turns and without a request that could not be encoded.
    drawn: u64,
    stopped: Option<Stop>,
    /// Requests of the source that the dialect does not support.
    unsupported: Vec<RequestInfo>,
}

#[derive(Clone)]
enum Stop {
    Exhausted,
    Unsupported(String),
}

/// The limits on the number and on the bytes of requests that are encoded before they are due.
const MAX_REQUESTS_AHEAD: usize = 4_096;
const MAX_BYTES_AHEAD: usize = 64 << 20;

impl Encoder {
    /// Whether responses are streams.
    pub fn is_streamed(&self) -> bool {
        self.sampling.stream
    }

    /// Encodes the requests of `source`. With `keep_text`, the output text of each request is stored until
    /// the request is recorded.
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
            others: Vec::new(),
            sessions: SessionHeaders::default(),
            talks: false,
            sampling,
            changes: Vec::new(),
            split_think: None,
            forms: Forms::default(),
            keep_text,
            ahead: Lookahead::default(),
            ahead_bytes: 0,
            turns: BTreeMap::new(),
            hasher: BodyHasher::new(),
            share: Share::WHOLE,
            drawn: 0,
            stopped: None,
            unsupported: Vec::new(),
        }
    }

    /// Adds the other servers. They have the same dialect, model and secrets as the first server.
    #[must_use]
    pub fn with_other_servers(self, others: Vec<Endpoint>) -> Self {
        Self { others, ..self }
    }

    /// Sets changes to the fields of all bodies.
    #[must_use]
    pub fn with_field_changes(self, changes: Vec<FieldChange>) -> Self {
        Self { changes, ..self }
    }

    /// Sets how the text of answers is split into reasoning and answer.
    #[must_use]
    pub fn with_split_think(self, split_think: Option<SplitThink>) -> Self {
        Self { split_think, ..self }
    }

    /// Adds headers that name the session of a request. With `talks`, each conversation is a session.
    #[must_use]
    pub fn with_session_headers(self, sessions: SessionHeaders, talks: bool) -> Self {
        Self { sessions, talks, ..self }
    }

    /// Completes the head of a request that begins. If there is only one server, the request has its head already,
    /// apart from its identity in a tracer, which depends on its place in the pass.
    pub(crate) fn address_to(&self, encoded: &mut Encoded, server: usize, record: &mut Record) {
        if !self.others.is_empty() {
            let other = server.checked_sub(1);
            let endpoint = other.map_or(&self.endpoint, |other| &self.others[other]);
            let body = std::mem::take(&mut encoded.outgoing);
            let head = self.head(endpoint, encoded.session, body.len());
            encoded.outgoing = body.after(head);
        }
        record.trace = self.sessions.trace;
        if let Some(value) = record.traceparent() {
            encoded.outgoing.replace(NO_TRACEPARENT, &value);
        }
    }

    fn head(&self, endpoint: &Endpoint, session: Option<Session>, length: usize) -> Vec<u8> {
        let Endpoint { authority, path, headers, .. } = endpoint;
        let headers = self.sessions.with(headers, session);
        request_head("POST", path, authority, &headers, Some(length))
    }

    /// Sends only the requests of a share. A source of conversations must contain only the conversations of
    /// the share.
    pub(crate) fn take_share(&mut self, share: Share) {
        self.share = share;
        if !share.owns_any() {
            self.stopped = Some(Stop::Exhausted);
        }
    }

    /// Hashes the requests of other shares that follow the last request of this share, so that the hash
    /// covers the whole pass. Does nothing if requests of this share were not sent.
    pub(crate) fn hash_the_others(&mut self) {
        let had_all = self.ahead.is_empty() && self.turns.is_empty();
        while had_all && !self.share.is_whole() && self.stopped.is_none() && self.ahead.is_empty() {
            if !self.draw() {
                std::thread::yield_now();
            }
        }
    }

    /// Encodes up to `count` requests ahead. Returns whether more can be encoded now.
    pub(crate) fn ahead(&mut self, count: usize) -> bool {
        for _ in 0..count {
            if self.is_full() || !self.draw() {
                return false;
            }
        }
        true
    }

    fn is_full(&self) -> bool {
        self.ahead.len() >= MAX_REQUESTS_AHEAD || self.ahead_bytes >= MAX_BYTES_AHEAD
    }

    /// The request with this place in this conversation, which has begun.
    pub(crate) fn turn(&mut self, of: (u32, u32)) -> NextRequest {
        // A missing request is never replaced by another one.
        match (self.turns.remove(&of), &self.stopped) {
            (Some(turn), _) => NextRequest::Request(turn),
            (None, Some(Stop::Unsupported(why))) => NextRequest::Unsupported(why.clone()),
            (None, _) => NextRequest::Exhausted,
        }
    }

    /// The request with a number, counted from 0 among the requests of this share, in the order of the source. If the
    /// request was not encoded ahead, it is encoded now. [`NextRequest::Wait`] states when no request is returned
    /// although the source may have more.
    pub(crate) fn request(&mut self, number: u32) -> NextRequest {
        while self.ahead.end() <= number
            && (self.ahead.is_empty() || !self.is_full())
            && self.draw()
        {}
        if let Some(encoded) = self.ahead.take(number) {
            self.ahead_bytes -= encoded.outgoing.memory();
            if self.talks {
                let also = self.source.begun(number);
                self.add(number, also);
            }
            return NextRequest::Request(encoded);
        }
        match &self.stopped {
            None => NextRequest::Wait,
            Some(Stop::Exhausted) => NextRequest::Exhausted,
            Some(Stop::Unsupported(why)) => NextRequest::Unsupported(why.clone()),
        }
    }

    /// Notifies the source that a request ended. What follows is encoded immediately, before it is due.
    /// Returns the requests that will not be sent.
    pub(crate) fn ended(
        &mut self,
        of: (u32, u32),
        record: &Record,
        said: Said<'_>,
    ) -> Vec<RequestInfo> {
        let Follows { requests, skipped } = self.source.ended(of, record, said);
        self.add(of.0, requests);
        skipped.iter().map(|request| self.info(request)).collect()
    }

    /// Encodes requests of a conversation before they are due.
    fn add(&mut self, conversation: u32, requests: Vec<(u32, Request)>) {
        for (call, request) in requests {
            let of = (conversation, call);
            match self.encode(&request, of) {
                Ok(encoded) => {
                    self.turns.insert(of, encoded);
                }
                Err(why) => self.give_up(&request, why),
            }
        }
    }

    /// The properties of the next request that will never be sent; `None` if there are no more such requests.
    pub(crate) fn unsent(&mut self) -> Option<RequestInfo> {
        if let Some(info) = self.unsupported.pop() {
            return Some(info);
        }
        let encoded =
            self.turns.pop_first().map(|(_, turn)| turn).or_else(|| self.ahead.take_first());
        match encoded {
            Some(encoded) => Some(encoded.info),
            None => loop {
                let request = self.source.unsent()?;
                self.drawn += 1;
                if self.share.owns(self.drawn - 1) {
                    return Some(self.info(&request));
                }
            },
        }
    }

    fn info(&self, request: &Request) -> RequestInfo {
        RequestInfo::of(request, &self.sampling)
    }

    /// The hash of all bodies so far.
    pub(crate) fn body_hash(&self) -> String {
        self.hasher.clone().finish()
    }

    /// Encodes the next request of the source. Returns false if there is none to encode now.
    fn draw(&mut self) -> bool {
        if self.stopped.is_some() {
            return false;
        }
        match self.source.next() {
            Supply::Request(request) => match self.encode(&request, (self.ahead.end(), 0)) {
                Ok(_) if !self.takes_next() => true,
                Ok(encoded) => {
                    self.ahead_bytes += encoded.outgoing.memory();
                    self.ahead.push(encoded);
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

    /// Counts the request that the source has just returned. Returns whether it belongs to this share.
    fn takes_next(&mut self) -> bool {
        self.drawn += 1;
        self.share.owns(self.drawn - 1)
    }

    fn give_up(&mut self, request: &Request, why: String) {
        self.unsupported.push(self.info(request));
        self.stopped = Some(Stop::Unsupported(why));
    }

    fn encode(&mut self, request: &Request, of: (u32, u32)) -> Result<Box<Encoded>, String> {
        let Endpoint { dialect, model, .. } = &self.endpoint;
        let body = dialect
            .body(request, &self.sampling, model, &self.changes)
            .map_err(|error| error.to_string())?;
        self.hasher.body(&body);
        request.media.iter().for_each(|media| self.hasher.body(media.id.as_bytes()));
        let body = Outgoing::of(body, &request.media)?;
        let media = MediaSent::of(&request.media, body.len() as u64);
        let (info, stream) = (self.info(request), self.sampling.stream);
        let expected = dialect.expected_results(request, &self.sampling);
        let inputs = match expected {
            None => 0,
            Some(_) if dialect.name == RERANK => request.further.len().max(1) as u32,
            Some(count) => count,
        };
        let reader = ResponseReader::new(dialect, &request.prompt, stream, self.keep_text)
            .with_output_limit(info.output_limit)
            .with_results(expected, inputs)
            .with_split_think(self.split_think)
            .with_form(self.forms.of(request, &self.sampling))
            .with_secrets(self.secrets.clone());
        let session = match self.talks {
            true if request.session.is_none() => Some(Session::Conversation(of.0)),
            _ => request.session.map(Session::Prefix),
        };
        let outgoing = match self.others.is_empty() {
            true => {
                let head = self.head(&self.endpoint, session, body.len());
                body.after(head)
            }
            false => body,
        };
        Ok(Box::new(Encoded { outgoing, media, inputs, reader, info, of, session }))
    }
}

#[cfg(test)]
mod tests;
