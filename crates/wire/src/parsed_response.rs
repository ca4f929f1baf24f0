//! The decoded content of a response, in the terms of a record. Events have no times: each event has the
//! index of the socket read that completed it.

use inferometer_model::finish_reason::{FinishReason, MAX_CHARS};
use inferometer_model::record::{self, Event, ServerTimes, Skipped};
use inferometer_model::{EventKind, Outcome, Secrets, SplitThink, Usage};

use crate::calls::{Call, CallPart, Calls};
use crate::http::MessageEnd;
use crate::think::{Found, ThinkTags};

/// The decoded content of a response so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParsedResponse {
    /// The events, in order.
    pub events: Vec<Event>,
    /// The answer's text; `None` if the text is not stored.
    pub text: Option<String>,
    /// The text of the reasoning before the answer; `None` if the text is not stored.
    pub reasoning: Option<String>,
    /// The last finish reason, as the server names it; `None` before the first one.
    pub finish_reason: Option<String>,
    /// The token counts that the server states.
    pub usage: Usage,
    /// The times that the server states.
    pub server_times: ServerTimes,
    /// Messages that were skipped, because they are neither output, error, usage nor end.
    pub skipped: Skipped,
    /// The number of answers (choices) in the response. 0 if no message states it: then there is one.
    pub choices: u32,
    /// The message of the first error: of an error event, or of a finish reason such as `abort`.
    pub error: Option<String>,
    /// The first problem in decoding. A problem of a message usually states the number of the message.
    pub malformed: Option<String>,
    /// Whether the response ended as the dialect requires, for example with a finish reason.
    pub proper_end: bool,
    /// Whether the last message has arrived: the dialect's end mark, such as `[DONE]`, or another message
    /// that ends the answer. No part of the answer follows.
    pub done: bool,
    /// The numbers of each vector of the answer; 0 if it has none.
    pub dimension: u32,
    /// The number of results that the request asks for; `None` if its answer is generated text.
    pub(crate) expected: Option<u32>,
    /// The number of its inputs, if its answer is not generated text.
    pub(crate) inputs: u32,
    /// The maximum number of output tokens that the request allows; `None` if it is unknown.
    pub(crate) output_limit: Option<u32>,
    /// The index of the current socket read.
    read_index: u32,
    /// The number of messages that have begun.
    messages: u32,
    /// The number of events before the current message.
    before_message: usize,
    /// Whether a message had output and usage. Such usage does not show that the answer has ended.
    usage_beside_output: bool,
    /// The number of events at the last usage that came alone after output. If no output follows, the answer has ended.
    last_usage: Option<usize>,
    /// The tool calls.
    calls: Calls,
    /// The secrets that are removed from the server's texts.
    secrets: Secrets,
    /// Where the reasoning is in the text of the answer.
    think: ThinkTags,
}

impl ParsedResponse {
    /// An empty response. If `keep_text` is true, the text and the reasoning are stored, which costs a copy
    /// for each event.
    pub fn new(keep_text: bool) -> Self {
        let text = keep_text.then(String::new);
        Self { reasoning: text.clone(), text, ..Self::default() }
    }

    /// Removes these secrets from stored texts of the server: errors, messages that cannot be decoded, the
    /// finish reason. The answer and its reasoning are not changed.
    #[must_use]
    pub fn with_secrets(self, secrets: Secrets) -> Self {
        Self { secrets, ..self }
    }

    /// Searches the text of the answer for reasoning in this way.
    pub(crate) fn split_think(&mut self, how: Option<SplitThink>) {
        self.think = ThinkTags::new(how);
    }

    /// Whether the text of the answer begins with the tag `<think>`, and was not split at it.
    pub fn begins_with_think(&self) -> bool {
        self.think.is_unsplit
    }

    /// Whether the kind of the next text is unknown until the text has been searched for tags.
    pub(crate) fn seeks_think_tags(&self) -> bool {
        self.think.are_sought()
    }

    /// The secrets that are removed from the server's texts.
    pub(crate) fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// The memory that the content occupies, in bytes, without short texts such as the finish reason.
    pub fn memory(&self) -> usize {
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::capacity);
        let texts = text(&self.text) + text(&self.reasoning) + self.calls.memory();
        self.events.capacity() * size_of::<Event>() + texts
    }

    /// Whether memory is reserved for one more event, and neither texts nor tool calls are stored.
    pub(crate) fn has_room(&self) -> bool {
        let has_texts = self.text.is_some() || self.reasoning.is_some() || self.calls.are_kept();
        self.events.len() < self.events.capacity() && !has_texts
    }

    /// Stores the tool calls, which costs a copy for each part.
    pub(crate) fn keep_calls(&mut self) {
        self.calls.keep();
    }

    /// The tool calls so far; empty if they are not stored.
    pub(crate) fn calls(&self) -> &[Call] {
        self.calls.list()
    }

    /// Whether the text and the reasoning are stored.
    pub(crate) fn keeps_text(&self) -> bool {
        self.text.is_some()
    }

    /// The length of the stored text and reasoning, in bytes.
    pub fn text_bytes(&self) -> usize {
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        text(&self.text) + text(&self.reasoning)
    }

    /// Drops the text, the reasoning and all events except the first ones. The events of the first `reads`
    /// socket reads remain, but at most `events` events.
    pub fn keep_beginning(&mut self, reads: u32, events: usize) {
        let of_reads = self.events.partition_point(|event| event.read < reads);
        self.events.truncate(of_reads.min(events));
        self.events.shrink_to_fit();
        (self.text, self.reasoning) = (None, None);
    }

    /// Begins a socket read with the index `read`. The events that follow belong to this read.
    pub fn begin_read(&mut self, read: u32) {
        self.read_index = read;
    }

    /// Begins the next message. Error texts state the number of the message, from 1.
    pub fn begin_message(&mut self) {
        self.messages += 1;
        self.before_message = self.events.len();
    }

    /// Skips a message of this kind, which has no content for the response.
    pub fn skip(&mut self, kind: &str) {
        self.event(EventKind::Comment);
        let Self { skipped, secrets, .. } = self;
        skipped.add(&secrets.redact(kind));
    }

    /// Removes the events of the current message if it has output. Returns whether it had.
    pub(crate) fn take_back_output(&mut self) -> bool {
        let has_output = self.message_has_token();
        if has_output {
            self.events.truncate(self.before_message);
        }
        has_output
    }

    /// Whether the current message has output so far.
    pub(crate) fn message_has_token(&self) -> bool {
        self.has_token_from(self.before_message)
    }

    fn has_token_from(&self, at: usize) -> bool {
        self.events[at..].iter().any(|event| event.kind.is_token())
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

    /// Adds a part of the answer's text. An empty part is a token that does not complete a character. If the text is
    /// split, the part may be reasoning. If it is both, its tokens are counted in the event of the reasoning.
    pub fn text(&mut self, text: &str, mut tokens: Option<u32>) {
        let sought = self.seeks_think_tags();
        let found = if sought { self.think.search(text) } else { Found::default() };
        if found.earlier {
            self.text_is_reasoning();
        }
        let (reasoning, text) = text.split_at(found.bytes);
        if !reasoning.is_empty() {
            self.reasoning(reasoning, tokens);
            if text.is_empty() {
                return;
            }
            tokens = tokens.map(|_| 0);
        }
        let kind = if text.is_empty() { EventKind::EmptyText } else { EventKind::Text };
        self.token(kind, chars(text), tokens);
        if let Some(all) = &mut self.text {
            all.push_str(text);
        }
    }

    /// Changes the text so far, which is the beginning of a tag, to reasoning.
    fn text_is_reasoning(&mut self) {
        let texts = self.events.iter_mut().filter(|event| event.kind == EventKind::Text);
        texts.for_each(|event| event.kind = EventKind::Reasoning);
        if let (Some(text), Some(reasoning)) = (&mut self.text, &mut self.reasoning) {
            reasoning.push_str(&std::mem::take(text));
        }
    }

    /// Adds a part of the reasoning's text.
    pub fn reasoning(&mut self, text: &str, tokens: Option<u32>) {
        self.token(EventKind::Reasoning, chars(text), tokens);
        if let Some(all) = &mut self.reasoning {
            all.push_str(text);
        }
    }

    /// Adds a part of a tool call. The characters of its arguments are counted.
    pub(crate) fn tool_call(&mut self, part: CallPart<'_>, tokens: Option<u32>) {
        self.token(EventKind::ToolCall, chars(part.arguments), tokens);
        self.calls.add(part);
    }

    /// Begins a tool call in a message that is not output.
    pub(crate) fn begin_call(&mut self, part: CallPart<'_>) {
        self.calls.add(part);
    }

    /// Adds an event with the finish reason, which is cut to [`MAX_CHARS`] characters. The response has then
    /// ended properly. A reason such as `abort`, with which a server ends a request early, is also an error.
    pub fn finish(&mut self, reason: &str) {
        self.event(EventKind::Finish);
        let kept: String = self.secrets.redact(reason).chars().take(MAX_CHARS).collect();
        if FinishReason::of(reason) == FinishReason::Failed {
            self.error.get_or_insert_with(|| format!("the answer ended with the reason `{kept}`"));
        }
        self.finish_reason = Some(kept);
        self.proper_end = true;
    }

    /// Adds an event with token counts. A count that is absent in `usage` keeps its earlier value.
    pub fn usage(&mut self, usage: Usage) {
        // Usage that output followed may come after each output, in a message of its own.
        self.usage_beside_output |=
            self.message_has_token() || self.last_usage.is_some_and(|at| self.has_token_from(at));
        self.event(EventKind::Usage);
        if !self.usage_beside_output && self.has_token() {
            self.last_usage = Some(self.events.len());
        }
        self.set_usage(usage);
    }

    /// Sets token counts that did not arrive as an event, for example from header fields. A count that is
    /// absent in `usage` keeps its earlier value.
    pub fn set_usage(&mut self, usage: Usage) {
        self.usage.prompt = usage.prompt.or(self.usage.prompt);
        self.usage.completion = usage.completion.or(self.usage.completion);
        self.usage.cached = usage.cached.or(self.usage.cached);
        self.usage.reasoning = usage.reasoning.or(self.usage.reasoning);
        self.usage.image = usage.image.or(self.usage.image);
        self.usage.audio = usage.audio.or(self.usage.audio);
    }

    /// Adds times that the server states. A time that is absent in `times` keeps its earlier value.
    pub(crate) fn times(&mut self, times: ServerTimes) {
        self.server_times = self.server_times.and(times);
    }

    /// Adds the reasoning to the output tokens if the events show that the server counts it on top of them: there are
    /// more events than output tokens, and as many as output and reasoning tokens together.
    pub(crate) fn count_reasoning(&mut self) {
        let Usage { completion: Some(completion), reasoning: Some(reasoning), .. } = self.usage
        else {
            return;
        };
        let with = completion.saturating_add(reasoning);
        let events = self.events.iter().filter(|event| event.kind.is_visible()).count() as u32;
        if events > completion
            && f64::from(events.abs_diff(with)) <= (0.01 * f64::from(with)).max(1.0)
        {
            self.usage.completion = Some(with);
        }
    }

    /// Adds the dialect's end mark as an event. The decoder of a dialect without an end mark does not call this
    /// method. If such a dialect defines which message is the last one, its decoder sets the field `done`.
    pub fn done(&mut self) {
        self.event(EventKind::Done);
        self.done = true;
    }

    /// Adds an error event. Only the message of the first error is stored.
    pub fn server_error(&mut self, message: String) {
        self.event(EventKind::Error);
        let Self { error, secrets, .. } = self;
        error.get_or_insert_with(|| record::detail(&secrets.redact(&message)));
    }

    /// Records a problem in decoding. Only the first problem is stored.
    pub fn malformed(&mut self, what: String) {
        let Self { malformed, secrets, .. } = self;
        malformed.get_or_insert_with(|| record::detail(&secrets.redact(&what)));
    }

    /// Whether any output arrived: text, an incomplete character, reasoning or a tool call.
    pub fn has_token(&self) -> bool {
        self.events.iter().any(|event| event.kind.is_token())
    }

    /// The outcome of the request. `http` states how the HTTP message ended.
    ///
    /// The first rule that applies decides:
    ///
    /// 1. A response with an error is a server error, even if more events follow the error.
    /// 2. A response that cannot be decoded is malformed. So is a response that has nothing but an end mark.
    /// 3. A response that has not ended is truncated. It ends as its dialect requires, for example with a finish
    ///    reason. After output, an end mark or usage that comes alone ends it, too.
    /// 4. A response whose HTTP message was cut before the dialect's end mark is truncated.
    /// 5. Any other response is complete, also without visible text.
    pub fn outcome(&self, http: MessageEnd) -> Outcome {
        if self.error.is_some() {
            Outcome::ServerError
        } else if self.malformed.is_some() || (self.done && !self.has_ended()) {
            Outcome::Malformed
        } else if !self.has_ended() || (http == MessageEnd::Truncated && !self.done) {
            Outcome::Truncated
        } else {
            Outcome::Complete
        }
    }

    fn has_ended(&self) -> bool {
        self.proper_end
            || (self.done && self.has_token())
            || self.last_usage.is_some_and(|at| !self.has_token_from(at))
    }
}

/// The number of characters of a text.
fn chars(text: &str) -> u32 {
    let count = if text.is_ascii() { text.len() } else { text.chars().count() };
    u32::try_from(count).unwrap_or(u32::MAX)
}
