//! HTTP/1.1 framing (RFC 9112) without I/O: responses for the client, requests for the servers of this
//! program. The body of a response is never buffered here. The client does not pipeline requests.

mod chunked;
mod length;
mod request;
mod response;
mod write;

use inferometer_model::{Secrets, visible::cut};

pub use request::{Request, RequestParser};
pub use response::{MessageEnd, Piece, ResponseParser};
pub use write::{CONTINUE, LAST_CHUNK, path_segment, request_head, response_head, write_chunk};

/// The longest head (start line and header fields) that [`ResponseParser`] and [`RequestParser::default`] accept,
/// in bytes. It is also the limit for the trailers of a chunked body.
pub const MAX_HEAD_BYTES: usize = 64 * 1024;
/// The longest chunk-size line, with extensions, that is accepted, in bytes.
pub const MAX_CHUNK_LINE_BYTES: usize = 4 * 1024;
/// The largest request body that [`RequestParser::default`] accepts, in bytes.
pub const MAX_REQUEST_BODY_BYTES: usize = 64 * 1024 * 1024;
/// The maximum number of header fields in a head.
pub const MAX_HEADERS: usize = 128;

/// The status and the header fields of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The status code.
    pub status: u16,
    /// The header fields in order, with the names as sent. Invalid UTF-8 in values is replaced.
    pub headers: Vec<(String, String)>,
}

impl Head {
    /// The value of the first header field with this name. Upper and lower case are equal.
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }
}

/// The value of the first header field with this name. Upper and lower case are equal.
fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| &**value)
}

/// Whether a comma-separated header field, which may occur several times, contains this word.
fn has_word(headers: &[(String, String)], name: &str, word: &str) -> bool {
    headers
        .iter()
        .filter(|(key, _)| key.eq_ignore_ascii_case(name))
        .flat_map(|(_, value)| value.split(','))
        .any(|part| part.trim().eq_ignore_ascii_case(word))
}

/// Whether the connection can be used for another message, according to the HTTP version and the header field
/// `Connection`.
fn persistent(minor_version: u8, headers: &[(String, String)]) -> bool {
    if minor_version == 0 {
        has_word(headers, "connection", "keep-alive")
    } else {
        !has_word(headers, "connection", "close")
    }
}

/// Copies the header fields of a parsed head.
fn owned(headers: &[httparse::Header<'_>]) -> Vec<(String, String)> {
    headers
        .iter()
        .map(|field| (field.name.to_owned(), String::from_utf8_lossy(field.value).into_owned()))
        .collect()
}

/// Why bytes are not an HTTP/1.1 message that is accepted, or why a header field cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the text says what the fields are")]
pub enum HttpError {
    /// The head cannot be parsed. `begins`: the first bytes of the head, at most [`MAX_HEAD_BYTES`]. The error
    /// message shows only the first 80 characters. [`HttpError::redacted`] removes secrets from the longer text, so
    /// that no part of a secret remains.
    #[error("not an HTTP/1.1 head ({what}); it begins with {:?}", cut(begins, 80))]
    Head { what: String, begins: String },
    /// The head is longer than the limit.
    #[error("an HTTP head of more than {limit} bytes")]
    HeadTooLong { limit: usize },
    /// The status is 101, a change of protocol, which was not requested.
    #[error("HTTP status 101 (a change of protocol), which was not requested")]
    Upgrade,
    /// The header fields give no usable body length. `value`: the value of the header field. The error message shows
    /// only the first 80 characters. [`HttpError::redacted`] removes secrets from the longer text.
    #[error("HTTP body length: {field} {:?}: {what}", cut(value, 80))]
    Length { field: &'static str, value: String, what: &'static str },
    /// A request has more than one Host field (RFC 9112, section 3.2).
    #[error("a request with more than one Host field")]
    Hosts,
    /// The chunked framing is broken. `at`: the position in the body, in bytes, including the framing.
    #[error("HTTP chunk framing: {what}, at byte {at} of the framed body")]
    Chunk { what: &'static str, at: u64 },
    /// A request body is larger than the limit.
    #[error("a request body of more than {limit} bytes")]
    BodyTooLong { limit: usize },
    /// Bytes came after the end of the message. `count`: the number of bytes after the end, in the read that contains
    /// the first of them.
    #[error("{count} bytes after the end of the HTTP message")]
    AfterEnd { count: usize },
}

impl HttpError {
    fn head(what: impl ToString, bytes: &[u8]) -> Self {
        let begins = &bytes[..bytes.len().min(MAX_HEAD_BYTES)];
        let begins = String::from_utf8_lossy(begins).into_owned();
        Self::Head { what: what.to_string(), begins }
    }

    /// The error, with all secrets removed from texts of the other side: the beginning of a head that cannot be
    /// parsed, and the value of a header field.
    #[must_use]
    pub fn redacted(self, secrets: &Secrets) -> Self {
        match self {
            Self::Head { what, begins } => {
                Self::Head { what, begins: secrets.redact(&begins).into_owned() }
            }
            Self::Length { field, value, what } => {
                Self::Length { field, value: secrets.redact(&value).into_owned(), what }
            }
            // These texts contain no bytes of the other side.
            other @ (Self::HeadTooLong { .. }
            | Self::Upgrade
            | Self::Hosts
            | Self::Chunk { .. }
            | Self::BodyTooLong { .. }
            | Self::AfterEnd { .. }) => other,
        }
    }
}
