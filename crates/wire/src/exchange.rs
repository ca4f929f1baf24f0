//! Reads one response from its first byte to its outcome: HTTP framing, message framing, dialect. No code
//! here reads a clock: the caller numbers the socket reads.

use inferometer_model::json::parsed_bytes;
use inferometer_model::record::detail;
use inferometer_model::{EventKind, Outcome, Phase, Prompt, Secrets};
use serde::de::IgnoredAny;

use crate::body_form::{delimited, mismatch};
use crate::dialect::{Decode, Dialect, Framing};
use crate::error::{ErrorSigns, MAX_QUOTED_BYTES, excerpt};
use crate::http::{Head, MessageEnd, Piece, ResponseParser};
use crate::server_times::server_times;
use crate::sse::{Decoder, MAX_MESSAGE_BYTES, SseItem};
use crate::{ParsedResponse, error_message};

/// The maximum size of a body that is not a stream, in bytes.
pub const MAX_BODY_BYTES: usize = 32 * 1024 * 1024;
/// The maximum memory of a decoded message or of a decoded body, in bytes.
pub const MAX_DECODED_BYTES: usize = 128 * 1024 * 1024;
/// Messages of a stream with at most this many bytes are decoded without an estimate of their decoded size.
const SMALL_MESSAGE_BYTES: usize = 64 * 1024;

/// The progress of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The status line and the header fields are not complete.
    InHead,
    /// The head is complete, but the body has not ended.
    InBody,
    /// The response has ended, or the rest of it cannot be decoded.
    Ended,
}

/// Reads and decodes one response.
pub struct ResponseReader {
    http: ResponseParser,
    body: Body,
    /// How the response ended; `None` before its end.
    ended: Option<MessageEnd>,
    any_bytes: bool,
}

impl ResponseReader {
    /// A reader for the response to one request. It stores the texts of the answer and of its reasoning if
    /// `keep_text` is true.
    pub fn new(dialect: &Dialect, prompt: &Prompt, stream: bool, keep_text: bool) -> Self {
        let body = Body {
            status: None,
            content: Content::Unknown,
            framing: dialect.framing(stream),
            decode: dialect.decoder(prompt, stream),
            parsed: ParsedResponse::new(keep_text),
            broken: false,
            cut_message: false,
        };
        Self { http: ResponseParser::new(), body, ended: None, any_bytes: false }
    }

    /// Removes these secrets from all stored texts of the server, except from the answer and its reasoning.
    #[must_use]
    pub fn with_secrets(mut self, secrets: Secrets) -> Self {
        self.body.parsed = self.body.parsed.with_secrets(secrets);
        self
    }

    /// Reserves memory for the expected number of events. The number affects only speed and memory.
    pub fn expect_events(&mut self, count: usize) {
        self.body.parsed.events.reserve(count);
    }

    /// The memory that the response occupies, in bytes, without parts of a fixed size.
    pub fn memory(&self) -> usize {
        self.http.memory() + self.body.parsed.memory() + self.body.content.memory()
    }

    /// Drops the text, the reasoning and all events except the first ones. The events of the first `reads`
    /// socket reads remain, but at most `events` events.
    pub fn keep_beginning(&mut self, reads: u32, events: usize) {
        self.body.parsed.keep_beginning(reads, events);
    }

    /// Decodes the bytes of one socket read; `read` is the index of the read in the record.
    pub fn feed(&mut self, read: u32, bytes: &[u8]) -> Progress {
        self.any_bytes |= !bytes.is_empty();
        if self.body.broken {
            return Progress::Ended;
        }
        let Self { http, body, .. } = self;
        body.parsed.begin_read(read);
        if let Err(error) = http.push(bytes, &mut |piece| body.piece(piece)) {
            let error = error.redacted(body.parsed.secrets());
            body.give_up(error.to_string());
        }
        self.settle();
        self.progress()
    }

    /// Must be called when the connection has ended.
    pub fn eof(&mut self) {
        if self.ended.is_some() {
            return;
        }
        let ended = self.http.finish();
        if ended == MessageEnd::Complete {
            self.body.piece(Piece::End);
        }
        self.ended = Some(ended);
    }

    /// How much of the response has been read.
    pub fn progress(&self) -> Progress {
        match (self.ended, self.body.status) {
            (Some(_), _) => Progress::Ended,
            (None, None) => Progress::InHead,
            (None, Some(_)) => Progress::InBody,
        }
    }

    /// Whether the status line and the header fields are complete.
    pub fn head_seen(&self) -> bool {
        self.body.status.is_some()
    }

    /// The HTTP status; `None` before the head is complete.
    pub fn status(&self) -> Option<u16> {
        self.body.status
    }

    /// Whether the connection can be used for another request. This is so if the server allows it and the
    /// response is complete and was decoded to its end.
    pub fn keep_alive(&self) -> bool {
        self.ended == Some(MessageEnd::Complete) && self.http.keep_alive() && !self.body.broken
    }

    /// The decoded content so far.
    pub fn parsed(&self) -> &ParsedResponse {
        &self.body.parsed
    }

    /// The decoded content.
    pub fn into_parsed(self) -> ParsedResponse {
        self.body.parsed
    }

    /// The outcome, and for failures an error message. Before the end of the response, returns the outcome of
    /// a response that is cut off here.
    pub fn verdict(&self) -> (Outcome, Option<String>) {
        let parsed = &self.body.parsed;
        match (self.body.status, &self.body.content) {
            (Some(status), Content::Rejected(body)) => {
                return (
                    Outcome::Rejected { status },
                    Some(error_message(status, body, parsed.secrets())),
                );
            }
            (None, _) if !self.any_bytes => {
                let what = "the connection was closed before any answer".to_owned();
                return (Outcome::Connection { phase: Phase::Headers }, Some(what));
            }
            _ => {}
        }
        let ended = match self.ended {
            Some(MessageEnd::Complete) if !self.body.cut_message => MessageEnd::Complete,
            _ => MessageEnd::Truncated,
        };
        let outcome = parsed.outcome(ended);
        let words = match outcome {
            Outcome::ServerError => parsed.error.clone(),
            Outcome::Malformed => parsed.malformed.clone().or_else(|| Some(no_output(parsed))),
            Outcome::Truncated => Some(self.what_is_missing()),
            _ => None,
        };
        (outcome, words.map(|words| detail(&words)))
    }

    /// Why a response is truncated, as an error message.
    fn what_is_missing(&self) -> String {
        let messages = self.body.parsed.messages();
        if !self.head_seen() {
            "the connection ended inside the HTTP head".to_owned()
        } else if self.ended != Some(MessageEnd::Complete) {
            format!("the connection ended inside the HTTP body, after {messages} messages")
        } else if self.body.cut_message {
            format!("the body ended inside message {}", messages + 1)
        } else {
            format!(
                "the answer ended after {messages} messages, without the finish reason or last \
                    message that its dialect requires"
            )
        }
    }

    fn settle(&mut self) {
        if self.ended.is_none() && (self.body.broken || self.http.is_done()) {
            let complete = self.http.is_done() && !self.body.broken;
            self.ended = Some(if complete { MessageEnd::Complete } else { MessageEnd::Truncated });
        }
    }
}

fn no_output(parsed: &ParsedResponse) -> String {
    match parsed.usage.completion {
        Some(count) => format!("there is no output, although the usage counts {count} tokens"),
        None => "there is no output, and the server does not report 0 output tokens".to_owned(),
    }
}

/// The kind of body that is being read.
enum Content {
    /// The head is not complete.
    Unknown,
    Sse(Decoder),
    /// The bytes of the incomplete message.
    Delimited(Vec<u8>),
    Whole(Vec<u8>),
    /// The body of an error status.
    Rejected(Vec<u8>),
    /// Why the body of a successful response does not have the requested form, and the bytes of the body.
    Unexpected(String, Vec<u8>),
}

impl Content {
    /// The memory of the stored bytes, in bytes.
    fn memory(&self) -> usize {
        match self {
            Self::Unknown => 0,
            Self::Sse(decoder) => decoder.memory(),
            Self::Delimited(bytes)
            | Self::Whole(bytes)
            | Self::Rejected(bytes)
            | Self::Unexpected(_, bytes) => bytes.capacity(),
        }
    }
}

/// The part of the response inside the HTTP framing.
struct Body {
    status: Option<u16>,
    content: Content,
    framing: Framing,
    decode: Box<dyn Decode>,
    parsed: ParsedResponse,
    /// Whether the rest of the response cannot be decoded.
    broken: bool,
    /// Whether the body ended inside a message.
    cut_message: bool,
}

impl Body {
    fn piece(&mut self, piece: Piece<'_>) {
        if self.broken {
            return;
        }
        match piece {
            Piece::Head(head) => self.head(head),
            Piece::Body(bytes) => self.bytes(bytes),
            Piece::End => self.end(),
        }
    }

    fn head(&mut self, head: &Head) {
        self.status = Some(head.status);
        self.content = if !(200..300).contains(&head.status) {
            Content::Rejected(Vec::new())
        } else if let Some(why) = mismatch(self.framing, head) {
            Content::Unexpected(why, Vec::new())
        } else {
            self.parsed.server_times = server_times(head);
            self.decode.head(head, &mut self.parsed);
            match self.framing {
                Framing::Sse => Content::Sse(Decoder::new()),
                Framing::Delimited => Content::Delimited(Vec::new()),
                Framing::WholeBody => Content::Whole(Vec::new()),
            }
        };
    }

    fn bytes(&mut self, bytes: &[u8]) {
        let Self { decode, parsed, .. } = self;
        match &mut self.content {
            Content::Unknown => unreachable!("invariant: a body follows a head"),
            Content::Sse(decoder) => {
                let result = decoder.push(bytes, &mut |item| sse_item(item, &mut **decode, parsed));
                if let Err(error) = result {
                    self.give_up(error.to_string());
                }
            }
            Content::Delimited(partial) => {
                let left = delimited(partial, bytes, |data| {
                    // An empty line that ends with CR LF arrives here as one CR.
                    if !data.trim().is_empty() {
                        message(data, &mut **decode, parsed);
                    }
                });
                if left > MAX_MESSAGE_BYTES {
                    self.give_up(format!("a message of more than {MAX_MESSAGE_BYTES} bytes"));
                }
            }
            Content::Whole(body) => {
                if body.len() + bytes.len() > MAX_BODY_BYTES {
                    self.give_up(format!("a body of more than {MAX_BODY_BYTES} bytes"));
                } else {
                    body.extend_from_slice(bytes);
                }
            }
            Content::Rejected(body) | Content::Unexpected(_, body) => {
                let room = MAX_QUOTED_BYTES.saturating_sub(body.len());
                body.extend_from_slice(&bytes[..bytes.len().min(room)]);
            }
        }
    }

    fn end(&mut self) {
        match &mut self.content {
            Content::Unknown | Content::Rejected(_) => {}
            Content::Sse(decoder) => self.cut_message = decoder.finish(),
            Content::Delimited(partial) => {
                let last = String::from_utf8_lossy(partial);
                if serde_json::from_str::<IgnoredAny>(&last).is_ok() {
                    message(&last, &mut *self.decode, &mut self.parsed);
                } else {
                    self.cut_message = !last.trim().is_empty();
                }
            }
            Content::Whole(body) => {
                let body = std::mem::take(body);
                self.parsed.begin_message();
                match too_large_decoded(&body) {
                    Some(why) => self.parsed.malformed(why),
                    None => self.decode.body(&body, &mut self.parsed),
                }
            }
            Content::Unexpected(why, body) => {
                if serde_json::from_slice(body).is_ok_and(|value| ErrorSigns::of(&value).is_error())
                {
                    let message = error_message(200, body, self.parsed.secrets());
                    self.parsed.server_error(message);
                } else {
                    let text = String::from_utf8_lossy(body);
                    let begins = excerpt(&text, self.parsed.secrets());
                    self.parsed.malformed(format!("{why}; it begins with {begins}"));
                }
            }
        }
    }

    fn give_up(&mut self, what: String) {
        self.parsed.malformed(what);
        self.broken = true;
    }
}

fn sse_item(item: SseItem<'_>, decode: &mut dyn Decode, parsed: &mut ParsedResponse) {
    match item {
        SseItem::Comment => parsed.event(EventKind::Comment),
        SseItem::Message { event, data } => {
            if event == "error" {
                parsed.begin_message();
                parsed.server_error(error_message(200, data.as_bytes(), parsed.secrets()));
            } else {
                message(data, decode, parsed);
            }
        }
    }
}

fn message(data: &str, decode: &mut dyn Decode, parsed: &mut ParsedResponse) {
    parsed.begin_message();
    if data.len() > SMALL_MESSAGE_BYTES
        && let Some(why) = too_large_decoded(data.as_bytes())
    {
        parsed.malformed(format!("message {}: {why}", parsed.messages()));
    } else {
        decode.message(data, parsed);
    }
}

/// Returns why a message or a body is not decoded: its decoded JSON would need too much memory. `None` if it
/// is small enough. The length of the text does not decide this: a few bytes of JSON may need hundreds of
/// bytes of memory.
fn too_large_decoded(json: &[u8]) -> Option<String> {
    let most = MAX_DECODED_BYTES;
    (parsed_bytes(json) > most)
        .then(|| format!("JSON that needs more than {} MiB of memory when decoded", most >> 20))
}
