//! The content of a response so far, in the terms of a record. It knows no time: an event carries the
//! index of the read that completed it.

use inferometer_model::finish_reason::{FinishReason, MAX_CHARS};
use inferometer_model::outcome::Outcome;
use inferometer_model::record::{Event, EventKind, Usage};

use crate::http::Ended;

/// The content of a response so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParsedResponse {
    /// The events, in order.
    pub events: Vec<Event>,
    /// The answer's text, if text is kept.
    pub text: Option<String>,
    /// The reasoning before the answer, if text is kept.
    pub reasoning: Option<String>,
    /// Why the model stopped, in the server's own term.
    pub finish_reason: Option<String>,
    /// Token counts by the server.
    pub usage: Usage,
    /// The message of the first error event.
    pub error: Option<String>,
    /// The first part that could not be decoded: which message, and why.
    pub malformed: Option<String>,
    /// Whether the response ended as the dialect requires, for example with a finish reason.
    pub proper_end: bool,
    /// Whether the dialect's end mark was seen, such as `[DONE]`: nothing can be missing after it.
    pub done: bool,
    read: u32,
    messages: u32,
}

impl ParsedResponse {
    /// An empty response. With `keep_text`, text is kept, which costs a copy per event.
    pub fn new(keep_text: bool) -> Self {
        let text = keep_text.then(String::new);
        Self { reasoning: text.clone(), text, ..Self::default() }
    }

    /// Further events belong to this read.
    pub fn begin_read(&mut self, read: u32) {
        self.read = read;
    }

    /// Another message begins. Errors name it by its number, from 1.
    pub fn begin_message(&mut self) {
        self.messages += 1;
    }

    /// Messages so far.
    pub fn messages(&self) -> u32 {
        self.messages
    }

    /// An event without text.
    pub fn event(&mut self, kind: EventKind) {
        self.token(kind, 0, None);
    }

    /// An event with its number of characters and, if the dialect states it, of tokens.
    pub fn token(&mut self, kind: EventKind, chars: u32, tokens: Option<u32>) {
        self.events.push(Event { read: self.read, kind, chars, tokens });
    }

    /// A part of the answer's text; empty text is half a character.
    pub fn text(&mut self, text: &str, tokens: Option<u32>) {
        let kind = if text.is_empty() { EventKind::EmptyText } else { EventKind::Text };
        self.token(kind, chars(text), tokens);
        if let Some(all) = &mut self.text {
            all.push_str(text);
        }
    }

    /// A part of the reasoning's text.
    pub fn reasoning(&mut self, text: &str, tokens: Option<u32>) {
        self.token(EventKind::Reasoning, chars(text), tokens);
        if let Some(all) = &mut self.reasoning {
            all.push_str(text);
        }
    }

    /// A part of a tool call; its arguments are counted and not kept.
    pub fn tool_call(&mut self, arguments: &str, tokens: Option<u32>) {
        self.token(EventKind::ToolCall, chars(arguments), tokens);
    }

    /// A reason to finish, of which at most [`MAX_CHARS`] characters are kept. One that says that the
    /// server gave the request up is an error.
    pub fn finish(&mut self, reason: &str) {
        self.event(EventKind::Finish);
        let kept: String = reason.chars().take(MAX_CHARS).collect();
        if FinishReason::of(reason) == FinishReason::Failed {
            self.error.get_or_insert_with(|| format!("the answer ended with the reason `{kept}`"));
        }
        self.finish_reason = Some(kept);
        self.proper_end = true;
    }

    /// Token counts that came as an event; a count that is absent leaves the earlier one.
    pub fn usage(&mut self, usage: Usage) {
        self.event(EventKind::Usage);
        self.set_usage(usage);
    }

    /// Token counts that did not come as an event, such as in header fields.
    pub fn set_usage(&mut self, usage: Usage) {
        self.usage.prompt = usage.prompt.or(self.usage.prompt);
        self.usage.completion = usage.completion.or(self.usage.completion);
        self.usage.cached = usage.cached.or(self.usage.cached);
    }

    /// The dialect's end mark, where it is a message of its own. Where the last message with content
    /// is the end, a dialect sets the field `done`, for there is no further event.
    pub fn done(&mut self) {
        self.event(EventKind::Done);
        self.done = true;
    }

    /// An error event; the message of the first one is kept.
    pub fn server_error(&mut self, message: String) {
        self.event(EventKind::Error);
        self.error.get_or_insert(message);
    }

    /// Something that cannot be decoded; the first one is kept.
    pub fn malformed(&mut self, what: String) {
        self.malformed.get_or_insert(what);
    }

    /// Whether output came: text, half a character, reasoning or a tool call.
    pub fn has_token(&self) -> bool {
        self.events.iter().any(|event| event.kind.is_token())
    }

    /// The outcome of the request, given whether the HTTP message was complete.
    ///
    /// An error event is a server error whatever follows it. A stream is complete when its
    /// proper end was seen, and either HTTP or the dialect's end mark shows that nothing is
    /// missing. A complete response without output is malformed unless the usage states zero.
    pub fn outcome(&self, http: Ended) -> Outcome {
        if self.error.is_some() {
            Outcome::ServerError
        } else if self.malformed.is_some() {
            Outcome::Malformed
        } else if !self.proper_end || (http == Ended::Truncated && !self.done) {
            Outcome::Truncated
        } else if !self.has_token() && self.usage.completion != Some(0) {
            Outcome::Malformed
        } else {
            Outcome::Complete
        }
    }
}

fn chars(text: &str) -> u32 {
    u32::try_from(text.chars().count()).unwrap_or(u32::MAX)
}
