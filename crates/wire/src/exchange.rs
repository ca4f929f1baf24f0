//! Reads one response from its first byte to its outcome: HTTP framing, message framing, dialect. No code
//! here reads a clock: the caller numbers the socket reads.

use std::sync::Arc;

use inferometer_model::record::{Structured, detail};
use inferometer_model::url::shown_address;
use inferometer_model::{Outcome, Phase, Prompt, Secrets, SplitThink};

use crate::body::{Body, Content};
use crate::http::{MessageEnd, Piece, ResponseParser};
use crate::{ParsedResponse, dialect::Dialect, error_message, structured::Asked};

pub use crate::body::{MAX_BODY_BYTES, MAX_DECODED_BYTES};

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
    /// The form that the request asks for, and whether the text is kept only to judge it.
    asked: Option<(Arc<Asked>, bool)>,
}

impl ResponseReader {
    /// A reader for the response to one request. It stores the texts of the answer and of its reasoning if
    /// `keep_text` is true.
    pub fn new(dialect: &Dialect, prompt: &Prompt, stream: bool, keep_text: bool) -> Self {
        let body = Body::new(dialect, prompt, stream, keep_text);
        Self { http: ResponseParser::new(), body, ended: None, any_bytes: false, asked: None }
    }

    /// Removes these secrets from all stored texts of the server, except from the answer and its reasoning.
    #[must_use]
    pub fn with_secrets(mut self, secrets: Secrets) -> Self {
        self.body.parsed = self.body.parsed.with_secrets(secrets);
        self
    }

    /// Sets the maximum number of output tokens that the request allows.
    #[must_use]
    pub fn with_output_limit(mut self, limit: Option<u32>) -> Self {
        self.body.parsed.output_limit = limit;
        self
    }

    /// Sets the number of results that the request asks for (`None`: generated text), and the number of its inputs.
    #[must_use]
    pub fn with_results(mut self, expected: Option<u32>, inputs: u32) -> Self {
        (self.body.parsed.expected, self.body.parsed.inputs) = (expected, inputs);
        self
    }

    /// Sets how the text of the answer is split into reasoning and answer; `None` leaves it as it is.
    #[must_use]
    pub fn with_split_think(mut self, how: Option<SplitThink>) -> Self {
        self.body.parsed.split_think(how);
        self
    }

    /// Sets the form that the request asks for. The text and the tool calls of the answer are then kept until its end.
    #[must_use]
    pub fn with_form(mut self, asked: Option<Arc<Asked>>) -> Self {
        if let Some(asked) = &asked {
            self.body.parsed.keep_calls();
            let is_for_form = asked.needs_text() && !self.body.parsed.keeps_text();
            if is_for_form {
                self.body.parsed.text = Some(String::new());
            }
            self.asked = Some((Arc::clone(asked), is_for_form));
        }
        self
    }

    /// The form of the completed answer; `None` if the request asks for none, or if there are several answers.
    pub fn form(&self) -> Option<Structured> {
        self.asked.as_ref().and_then(|(asked, _)| asked.judge(&self.body.parsed))
    }

    /// Reserves memory for the expected number of events. The number affects only speed and memory.
    pub fn expect_events(&mut self, count: usize) {
        self.body.parsed.events.reserve(count);
    }

    /// The memory that the response occupies, in bytes, without parts of a fixed size.
    pub fn memory(&self) -> usize {
        self.http.memory() + self.body.parsed.memory() + self.body.content.memory()
    }

    /// Whether memory is reserved for one more event, and nothing but events is stored.
    pub fn has_room(&self) -> bool {
        self.body.parsed.has_room()
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
        } else {
            self.body.end_of_messages();
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
    pub fn into_parsed(mut self) -> ParsedResponse {
        if self.asked.is_some_and(|(_, is_for_form)| is_for_form) {
            self.body.parsed.text = None;
        }
        self.body.parsed
    }

    /// The outcome, and for failures an error message. Before the end of the response, returns the outcome of
    /// a response that is cut off here.
    pub fn verdict(&self) -> (Outcome, Option<String>) {
        let parsed = &self.body.parsed;
        match (self.body.status, &self.body.content) {
            (Some(status), Content::Rejected(body)) => {
                let said = error_message(status, body, parsed.secrets());
                let words = match &self.body.location {
                    None => said,
                    Some(to) => {
                        let to = shown_address(&parsed.secrets().redact(to));
                        detail(&format!("redirects to {to}; {said}"))
                    }
                };
                return (Outcome::Rejected { status }, Some(words));
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
            Outcome::Malformed => Some(parsed.malformed.as_deref().unwrap_or(ONLY_END).to_owned()),
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

/// Why a response is malformed that has nothing but an end mark.
const ONLY_END: &str = "there is neither output nor a finish reason before the end mark";
