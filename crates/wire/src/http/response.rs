//! The framing of one response. Bytes of the body are passed to the caller as slices of the input, without
//! copies. A head that is split between reads is stored until it is complete.

use super::length::{BodyLength, body_length};
use super::{Head, HttpError, MAX_HEAD_BYTES, MAX_HEADERS, chunked::Chunked, owned, persistent};

/// A part of a response.
#[derive(Debug)]
pub enum Piece<'a> {
    /// The status line and the header fields. Each response has one such piece: 1xx heads are skipped.
    Head(&'a Head),
    /// Bytes of the body, without framing. Never empty.
    Body(&'a [u8]),
    /// The message is complete. The parser does not pass this piece if the body ends with the connection.
    End,
}

/// Whether a message was complete when its connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageEnd {
    /// The whole message arrived.
    Complete,
    /// The connection ended inside the message, or before it.
    Truncated,
}

#[derive(Debug)]
enum State {
    Head,
    Known { left: u64 },
    Chunked(Chunked),
    UntilClose,
    Done,
}

/// Parses one response. Each response needs a new parser.
#[derive(Debug)]
pub struct ResponseParser {
    state: State,
    /// Bytes of a head that is not complete yet.
    partial: Vec<u8>,
    to_head_request: bool,
    keep_alive: bool,
}

impl Default for ResponseParser {
    fn default() -> Self {
        Self::new()
    }
}

impl ResponseParser {
    /// A parser for the response to a request with any method except HEAD.
    pub fn new() -> Self {
        let partial = Vec::new();
        Self { state: State::Head, partial, to_head_request: false, keep_alive: false }
    }

    /// A parser for the response to a HEAD request. This response has no body, even if its header fields
    /// state a length.
    pub fn to_head_request() -> Self {
        Self { to_head_request: true, ..Self::new() }
    }

    /// Parses the bytes of one read, and passes the parts of the response to `sink`.
    ///
    /// # Errors
    /// When the bytes are not a valid HTTP/1.1 response or exceed a limit, when the status is 101, or when
    /// bytes follow the end of the response. The parser cannot be used any more.
    pub fn push(
        &mut self,
        bytes: &[u8],
        sink: &mut impl FnMut(Piece<'_>),
    ) -> Result<(), HttpError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            match &mut self.state {
                State::Head => rest = self.head(rest, sink)?,
                State::Known { left } => {
                    let used = usize::try_from(*left).unwrap_or(usize::MAX).min(rest.len());
                    sink(Piece::Body(&rest[..used]));
                    rest = &rest[used..];
                    *left -= used as u64;
                    if *left == 0 {
                        self.end(sink);
                    }
                }
                State::Chunked(chunked) => {
                    let used = chunked.push(rest, &mut |data| sink(Piece::Body(data)))?;
                    rest = &rest[used..];
                    if chunked.is_done() {
                        self.end(sink);
                    }
                }
                State::UntilClose => {
                    sink(Piece::Body(rest));
                    rest = &[];
                }
                State::Done => return Err(HttpError::AfterEnd { count: rest.len() }),
            }
        }
        Ok(())
    }

    /// Must be called when the connection has ended. Returns whether the message was complete. A body without
    /// a stated length is complete when the connection ends.
    pub fn finish(&mut self) -> MessageEnd {
        match self.state {
            State::UntilClose | State::Done => {
                self.state = State::Done;
                MessageEnd::Complete
            }
            _ => MessageEnd::Truncated,
        }
    }

    /// The memory that the parser occupies, in bytes, without its fixed size.
    pub fn memory(&self) -> usize {
        self.partial.capacity()
    }

    /// Whether the message has ended.
    pub fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }

    /// Whether the connection can be used for another request after the end of this message.
    pub fn keep_alive(&self) -> bool {
        self.keep_alive
    }

    fn end(&mut self, sink: &mut impl FnMut(Piece<'_>)) {
        self.state = State::Done;
        sink(Piece::End);
    }

    /// Parses bytes of the head; returns the bytes after the head.
    fn head<'a>(
        &mut self,
        bytes: &'a [u8],
        sink: &mut impl FnMut(Piece<'_>),
    ) -> Result<&'a [u8], HttpError> {
        let before = self.partial.len();
        if before == 0
            && let Some((version, head, used)) = parse(bytes)?
        {
            self.begin(version, &head, sink)?;
            return Ok(&bytes[used..]);
        }
        self.partial.extend_from_slice(bytes);
        if before > 0
            && let Some((version, head, used)) = parse(&self.partial)?
        {
            self.partial = Vec::new();
            self.begin(version, &head, sink)?;
            return Ok(&bytes[used - before..]);
        }
        if self.partial.len() > MAX_HEAD_BYTES {
            return Err(HttpError::HeadTooLong { limit: MAX_HEAD_BYTES });
        }
        Ok(&[])
    }

    fn begin(
        &mut self,
        version: u8,
        head: &Head,
        sink: &mut impl FnMut(Piece<'_>),
    ) -> Result<(), HttpError> {
        match head.status {
            101 => return Err(HttpError::Upgrade),
            100..=199 => return Ok(()),
            _ => {}
        }
        let no_body = self.to_head_request || matches!(head.status, 204 | 304);
        let length = if no_body { BodyLength::Known(0) } else { body_length(&head.headers)? };
        self.keep_alive = persistent(version, &head.headers) && length != BodyLength::Unstated;
        sink(Piece::Head(head));
        match length {
            BodyLength::Known(0) => self.end(sink),
            BodyLength::Known(left) => self.state = State::Known { left },
            BodyLength::Chunked => self.state = State::Chunked(Chunked::new()),
            BodyLength::Unstated => self.state = State::UntilClose,
        }
        Ok(())
    }
}

/// Parses a head at the beginning of `bytes`. Returns the minor version, the head and the length of the head
/// in bytes; `None` if the head is not complete.
fn parse(bytes: &[u8]) -> Result<Option<(u8, Head, usize)>, HttpError> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut fields);
    match response.parse(bytes) {
        Ok(httparse::Status::Complete(used)) if used <= MAX_HEAD_BYTES => {
            let status = response.code.expect("invariant: a complete head has a status");
            let version = response.version.expect("invariant: a complete head has a version");
            Ok(Some((version, Head { status, headers: owned(response.headers) }, used)))
        }
        Ok(httparse::Status::Complete(_)) => Err(HttpError::HeadTooLong { limit: MAX_HEAD_BYTES }),
        Ok(httparse::Status::Partial) => Ok(None),
        Err(error) => Err(HttpError::head(error, bytes)),
    }
}
