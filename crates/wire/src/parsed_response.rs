//! What has been decoded of a response so far, in the terms of a record. It has no times: each event has the
//! index of the socket read that completed it.

use inferometer_model::finish_reason::{FinishReason, MAX_CHARS};
use inferometer_model::outcome::Outcome;
use inferometer_model::record::{self, Event, EventKind, Usage};
use inferometer_model::secrets::Secrets;

use crate::http::MessageEnd;

/// What has been decoded of a response so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParsedResponse {
    /// The events, in order.
    pub events: Vec<Event>,
    /// The answer's text; `None` if text is not kept.
    pub text: Option<String>,
    /// The text of the reasoning before the answer; `None` if text is not kept.
    pub reasoning: Option<String>,
    /// The finish reason, as the server names it.
    pub finish_reason: Option<String>,
    /// The token counts that the server states.
    pub usage: Usage,
    /// The message of the first error event.
    pub error: Option<String>,
    /// The first message that could not be decoded: its number, and why.
    pub malformed: Option<String>,
    /// Whether the response ended as the dialect requires, for example with a finish reason.
    pub proper_end: bool,
    /// Whether the dialect's end mark was seen, such as `[DONE]`. Nothing can be missing after it.
    pub done: bool,
    /// The index of the current socket read.
    read_index: u32,
    /// Messages that have begun.
    messages: u32,
    /// What is removed from the server's messages.
    secrets: Secrets,
}

impl ParsedResponse {
    /// An empty response. `keep_text` says whether text is kept, which costs a copy for each event.
    pub fn new(keep_text: bool) -> Self {
        let text = keep_text.then(String::new);
        Self { reasoning: text.clone(), text, ..Self::default() }
    }

    /// Removes these from the texts of the server that are kept: errors, messages that cannot be decoded, the
    /// finish reason. The answer itself is not changed.
    #[must_use]
    pub fn with_secrets(self, secrets: Secrets) -> Self {
        Self { secrets, ..self }
    }

    /// What is removed from the server's messages.
    pub(crate) fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// The memory that it takes, in bytes, without short texts such as the finish reason.
    pub fn memory(&self) -> usize {
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::capacity);
        self.events.capacity() * size_of::<Event>() + text(&self.text) + text(&self.reasoning)
    }

    /// The length of the kept text and reasoning, in bytes.
    pub fn text_bytes(&self) -> usize {
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        text(&self.text) + text(&self.reasoning)
    }

    /// Keeps only the events of the first `reads` reads, and at most `events` of them. Drops the others and
    /// the text.
    pub fn keep_beginning(&mut self, reads: u32, events: usize) {
        let of_reads = self.events.partition_point(|event| event.read < reads);
        self.events.truncate(of_reads.min(events));
        self.events.shrink_to_fit();
        (self.text, self.reasoning) = (None, None);
    }

    /// Begins a socket read: the events that follow belong to it. `read` is its index.
    pub fn begin_read(&mut self, read: u32) {
        self.read_index = read;
    }

    /// Begins the next message. Errors name a message by its number, from 1.
    pub fn begin_message(&mut self) {
        self.messages += 1;
    }

    /// The number of messages that have begun.
    pub fn messages(&self) -> u32 {
        self.messages
    }

    /// Adds an event without text.
    pub fn event(&mut self, kind: EventKind) {
        self.token(kind, 0, None);
    }

    /// Adds an event with its number of characters and, if the dialect states it, its number of tokens.
    pub fn token(&mut self, kind: EventKind, chars: u32, tokens: Option<u32>) {
        self.events.push(Event { read: self.read_index, kind, chars, tokens });
    }

    /// Adds a part of the answer's text. An empty part is a token that does not complete a character.
    pub fn text(&mut self, text: &str, tokens: Option<u32>) {
        let kind = if text.is_empty() { EventKind::EmptyText } else { EventKind::Text };
        self.token(kind, chars(text), tokens);
        if let Some(all) = &mut self.text {
            all.push_str(text);
        }
    }

    /// Adds a part of the reasoning's text.
    pub fn reasoning(&mut self, text: &str, tokens: Option<u32>) {
        self.token(EventKind::Reasoning, chars(text), tokens);
        if let Some(all) = &mut self.reasoning {
            all.push_str(text);
        }
    }

    /// Adds a part of a tool call. The characters of its arguments are counted, but not kept.
    pub fn tool_call(&mut self, arguments: &str, tokens: Option<u32>) {
        self.token(EventKind::ToolCall, chars(arguments), tokens);
    }

    /// Adds the finish reason, of which at most [`MAX_CHARS`] characters are kept. A reason such as `abort`,
    /// with which a server ends the request early, is also an error.
    pub fn finish(&mut self, reason: &str) {
        self.event(EventKind::Finish);
        let kept: String = self.secrets.redact(reason).chars().take(MAX_CHARS).collect();
        if FinishReason::of(reason) == FinishReason::Failed {
            self.error.get_or_insert_with(|| format!("the answer ended with the reason `{kept}`"));
        }
        self.finish_reason = Some(kept);
        self.proper_end = true;
    }

    /// Adds an event with token counts. An absent count does not change the earlier one.
    pub fn usage(&mut self, usage: Usage) {
        self.event(EventKind::Usage);
        self.set_usage(usage);
    }

    /// Sets token counts that did not come as an event, but for example in header fields.
    pub fn set_usage(&mut self, usage: Usage) {
        self.usage.prompt = usage.prompt.or(self.usage.prompt);
        self.usage.completion = usage.completion.or(self.usage.completion);
        self.usage.cached = usage.cached.or(self.usage.cached);
    }

    /// Adds the dialect's end mark if it is a message of its own. If the last message with content is the
    /// end, a dialect only sets the field `done`, because there is no further event.
    pub fn done(&mut self) {
        self.event(EventKind::Done);
        self.done = true;
    }

    /// Adds an error event. Only the message of the first one is kept.
    pub fn server_error(&mut self, message: String) {
        self.event(EventKind::Error);
        let Self { error, secrets, .. } = self;
        error.get_or_insert_with(|| record::detail(&secrets.redact(&message)));
    }

    /// Notes a message that cannot be decoded. Only the first one is kept.
    pub fn malformed(&mut self, what: String) {
        let Self { malformed, secrets, .. } = self;
        malformed.get_or_insert_with(|| record::detail(&secrets.redact(&what)));
    }

    /// Whether any output came: text, an incomplete character, reasoning or a tool call.
    pub fn has_token(&self) -> bool {
        self.events.iter().any(|event| event.kind.is_token())
    }

    /// The outcome of the request. `http` says how the HTTP message ended.
    ///
    /// An error event makes the outcome a server error, whatever follows it. A stream is complete if its
    /// proper end was seen, and either HTTP or the dialect's end mark shows that nothing is missing. A
    /// complete response without output is malformed, unless the usage states zero output tokens.
    pub fn outcome(&self, http: MessageEnd) -> Outcome {
        if self.error.is_some() {
            Outcome::ServerError
        } else if self.malformed.is_some() {
            Outcome::Malformed
        } else if !self.proper_end || (http == MessageEnd::Truncated && !self.done) {
            Outcome::Truncated
        } else if !self.has_token() && self.usage.completion != Some(0) {
            Outcome::Malformed
        } else {
            Outcome::Complete
        }
    }
}

/// The number of characters of a text.
fn chars(text: &str) -> u32 {
    u32::try_from(text.chars().count()).unwrap_or(u32::MAX)
}
