//! The framing of requests, for the servers of this program: it finds complete requests in the bytes of a
//! connection. Bytes after a request are stored for the next request.

use super::length::{BodyLength, body_length};
use super::{
    HttpError, MAX_HEAD_BYTES, MAX_HEADERS, MAX_REQUEST_BODY_BYTES, chunked::Chunked, has_word,
    header, owned, persistent,
};

/// One complete request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The method, such as `POST`.
    pub method: String,
    /// The request target as sent: path and query.
    pub target: String,
    /// The header fields in order.
    pub headers: Vec<(String, String)>,
    /// The body, without framing.
    pub body: Vec<u8>,
    /// Whether the client allows the connection to be used again.
    pub keep_alive: bool,
}

impl Request {
    /// The value of the first header field with this name. Upper and lower case are equal.
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }
}

#[derive(Debug)]
enum Body {
    Known { length: usize },
    Chunked(Chunked),
}

/// Parses the requests of one connection, one after another.
#[derive(Debug)]
pub struct RequestParser {
    most_head_bytes: usize,
    most_body_bytes: usize,
    buffer: Vec<u8>,
    /// A request whose body is not complete yet.
    open: Option<(Request, Body)>,
    wants_continue: bool,
}

impl Default for RequestParser {
    /// A parser for a new connection, with the limits of an inference server.
    fn default() -> Self {
        Self::with_limits(MAX_HEAD_BYTES, MAX_REQUEST_BODY_BYTES)
    }
}

impl RequestParser {
    /// A parser that accepts heads and bodies of at most these lengths, in bytes.
    pub fn with_limits(most_head_bytes: usize, most_body_bytes: usize) -> Self {
        Self {
            most_head_bytes,
            most_body_bytes,
            buffer: Vec::new(),
            open: None,
            wants_continue: false,
        }
    }

    /// Adds the bytes of one read, and returns the next request if it is complete. To get further requests
    /// from the same read, call this again without bytes.
    ///
    /// # Errors
    /// When the bytes are not a valid request, or exceed a limit. The connection cannot be used any more.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Option<Request>, HttpError> {
        self.buffer.extend_from_slice(bytes);
        if self.open.is_none() && !self.head()? {
            return Ok(None);
        }
        let (request, body) = self.open.as_mut().expect("invariant: the head is complete here");
        let complete = match body {
            Body::Known { length } => {
                let missing = *length - request.body.len();
                let used = missing.min(self.buffer.len());
                request.body.extend(self.buffer.drain(..used));
                request.body.len() == *length
            }
            Body::Chunked(chunked) => {
                let target = &mut request.body;
                let used =
                    chunked.push(&self.buffer, &mut |data| target.extend_from_slice(data))?;
                self.buffer.drain(..used);
                chunked.is_done()
            }
        };
        if request.body.len() > self.most_body_bytes {
            return Err(HttpError::BodyTooLong { limit: self.most_body_bytes });
        }
        if !complete {
            return Ok(None);
        }
        self.wants_continue = false;
        Ok(self.open.take().map(|(request, _)| request))
    }

    /// Whether the client waits for [`super::CONTINUE`] before it sends the body of a request. Returns true at
    /// most once for each request.
    pub fn take_wants_continue(&mut self) -> bool {
        std::mem::take(&mut self.wants_continue)
    }

    /// Whether a request has begun and is not complete yet.
    pub fn is_inside_request(&self) -> bool {
        self.open.is_some() || !self.buffer.is_empty()
    }

    /// Parses a head from the buffer into `open`. Returns whether the buffer had a complete head.
    fn head(&mut self) -> Result<bool, HttpError> {
        let mut fields = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut parsed = httparse::Request::new(&mut fields);
        let used = match parsed.parse(&self.buffer) {
            Ok(httparse::Status::Complete(used)) if used <= self.most_head_bytes => used,
            Ok(httparse::Status::Partial) if self.buffer.len() <= self.most_head_bytes => {
                return Ok(false);
            }
            Ok(_) => return Err(HttpError::HeadTooLong { limit: self.most_head_bytes }),
            Err(error) => return Err(HttpError::head(error, &self.buffer)),
        };
        let headers = owned(parsed.headers);
        let version = parsed.version.expect("invariant: a complete head has a version");
        let request = Request {
            method: parsed.method.expect("invariant: a complete head has a method").to_owned(),
            target: parsed.path.expect("invariant: a complete head has a target").to_owned(),
            keep_alive: persistent(version, &headers),
            headers,
            body: Vec::new(),
        };
        let hosts = request.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("host"));
        if hosts.count() > 1 {
            return Err(HttpError::Hosts);
        }
        let body = match body_length(&request.headers)? {
            BodyLength::Chunked => Body::Chunked(Chunked::new()),
            BodyLength::Unstated => Body::Known { length: 0 },
            BodyLength::Known(length) if length <= self.most_body_bytes as u64 => {
                Body::Known { length: length as usize }
            }
            BodyLength::Known(_) => {
                return Err(HttpError::BodyTooLong { limit: self.most_body_bytes });
            }
        };
        self.wants_continue = has_word(&request.headers, "expect", "100-continue");
        self.buffer.drain(..used);
        self.open = Some((request, body));
        Ok(true)
    }
}
