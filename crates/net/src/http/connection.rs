//! One client's connection: it parses requests and writes one response at a time. It does not decide the
//! content of the responses.

use std::collections::VecDeque;

use inferometer_model::Nanos;
use inferometer_wire::http::{
    CONTINUE, HttpError, LAST_CHUNK, Request, RequestParser, response_head, write_chunk,
};

use crate::{Close, ConnId, http::limits::Limits, http::write_buffer::WriteBuffer};

/// A connection on which a handler writes responses of type `R`.
#[derive(Debug)]
pub struct Connection<R> {
    /// The response in progress. Further requests wait until it is complete.
    pub response: Option<R>,
    /// Bytes that the socket has not accepted yet, and whether the connection ends after them.
    pub output: WriteBuffer,
    id: ConnId,
    parser: RequestParser,
    /// Parsed requests that the handler has not received yet.
    waiting: VecDeque<Request>,
    keep_alive: bool,
    /// The latest of these times: the connection was opened, a request was given to the handler, bytes were
    /// written.
    active_at: Nanos,
    received_request: bool,
}

impl<R> Connection<R> {
    pub(crate) fn new(id: ConnId, now: Nanos, limits: &Limits) -> Self {
        Self {
            response: None,
            output: WriteBuffer::new(id),
            id,
            parser: RequestParser::with_limits(limits.head_bytes, limits.body_bytes),
            waiting: VecDeque::new(),
            keep_alive: false,
            active_at: now,
            received_request: false,
        }
    }

    /// The id of the connection in the network.
    pub fn id(&self) -> ConnId {
        self.id
    }

    /// Queues a response head. `connection: close` is added if the connection will not be used again.
    pub fn head(&mut self, status: u16, headers: &[(&str, &str)]) {
        let mut all = headers.to_vec();
        if !self.keep_alive {
            all.push(("connection", "close"));
        }
        self.output.push(&response_head(status, &all));
    }

    /// Queues a complete response; `headers` must contain the body's length.
    pub fn respond(&mut self, status: u16, headers: &[(&str, &str)], body: &[u8]) {
        self.head(status, headers);
        self.output.push(body);
        self.end();
    }

    /// Queues one chunk of a chunked body. Empty data is ignored, because an empty chunk would end the body.
    pub fn chunk(&mut self, data: &[u8]) {
        write_chunk(self.output.buffer(), data);
    }

    /// Queues the end of a chunked body.
    pub fn end_chunked(&mut self) {
        self.output.push(LAST_CHUNK);
        self.end();
    }

    /// Ends the response. If the connection is not kept alive, it is closed afterwards.
    pub fn end(&mut self) {
        if !self.keep_alive {
            self.close();
        }
    }

    /// Closes the connection gracefully after the last byte. An earlier call of [`WriteBuffer::close_after`]
    /// has priority.
    pub fn close(&mut self) {
        if !self.output.is_closing() {
            self.output.close_after(Close::Gracefully);
        }
    }

    /// Parses the bytes of one read. A complete request is stored for [`Self::next_request`].
    pub(crate) fn receive(&mut self, bytes: &[u8]) -> Result<(), HttpError> {
        let parsed = self.parser.push(bytes);
        if self.parser.take_wants_continue() {
            self.output.push(CONTINUE);
        }
        self.waiting.extend(parsed?);
        Ok(())
    }

    /// The next complete request, if there is one.
    pub(crate) fn next_request(&mut self) -> Result<Option<Request>, HttpError> {
        match self.waiting.pop_front() {
            Some(request) => Ok(Some(request)),
            None => self.parser.push(&[]),
        }
    }

    /// Whether there is a request, complete or incomplete, that was not given to the handler yet.
    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty() || self.parser.is_inside_request()
    }

    /// Records that a request is given to the handler now.
    pub(crate) fn begin(&mut self, now: Nanos, request: &Request) {
        (self.active_at, self.received_request) = (now, true);
        self.keep_alive = request.keep_alive;
    }

    /// Makes this response the last one of the connection.
    pub(crate) fn keep_no_longer(&mut self) {
        self.keep_alive = false;
    }

    pub(crate) fn wrote(&mut self, now: Nanos) {
        self.active_at = now;
    }

    /// Whether the next request may be answered now.
    pub(crate) fn takes_requests(&self, limits: &Limits) -> bool {
        self.response.is_none()
            && !self.output.is_closing()
            && self.output.len() < limits.unsent_bytes
    }

    /// Whether the client may send more bytes.
    pub(crate) fn may_send(&self, limits: &Limits) -> bool {
        self.takes_requests(limits) || self.waiting.len() < limits.queued_requests
    }

    /// Whether a waiting request may be answered now.
    pub(crate) fn wants_answer(&self, limits: &Limits) -> bool {
        self.has_waiting() && self.takes_requests(limits)
    }

    /// Whether there are unsent bytes, and the socket has accepted none for [`Limits::stalled_after`].
    pub(crate) fn is_stalled(&self, now: Nanos, limits: &Limits) -> bool {
        !self.output.is_empty() && now.since(self.active_at) >= limits.stalled_after
    }

    /// Whether no response is in progress and there are no unsent bytes.
    pub(crate) fn is_idle(&self) -> bool {
        self.response.is_none() && self.output.is_empty()
    }

    pub(crate) fn active_at(&self) -> Nanos {
        self.active_at
    }

    /// When the last request was given to the handler, or bytes were last written; zero if there was no
    /// request.
    pub(crate) fn served_at(&self) -> Nanos {
        if self.received_request { self.active_at } else { Nanos::ZERO }
    }

    /// When the connection is closed, unless a whole request arrives before; `None` for never. The bytes of
    /// an incomplete request do not extend the time.
    pub(crate) fn closes_at(&self, limits: &Limits) -> Option<Nanos> {
        let timeouts = limits.timeouts.filter(|_| self.is_idle())?;
        let in_request = !self.received_request || self.parser.is_inside_request();
        Some(self.active_at + if in_request { timeouts.request } else { timeouts.idle })
    }
}
