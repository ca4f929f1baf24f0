//! The record of one request: instants, socket reads, stream events, token counts and the outcome.
//!
//! Every number, table and plot is computed from records. So the format of records is versioned
//! ([`RECORD_VERSION`]), and a record contains no derived figures.

mod detail;
mod job_call;
mod skipped;
mod stated;
mod structured;
mod tokens;

use serde::{Deserialize, Serialize};

pub use detail::{Detail, StopReason};
pub use job_call::{GapKind, JobCall, SharedPrompt};
pub use skipped::Skipped;
pub use stated::{ServerTime, ServerTimes, Usage};
pub use structured::{Structured, Verdict};
pub use tokens::TokensFrom;

use crate::{MediaSent, Nanos, Outcome, Pooled};

/// The version of the meaning of a [`Record`]. A reader refuses unknown versions.
pub const RECORD_VERSION: u32 = 1;

/// One socket read that returned data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Read {
    /// When the kernel received the read's last segment; `None` if the kernel gives no usable timestamp.
    pub kernel: Option<Nanos>,
    /// When the program had read the data.
    pub user: Nanos,
    /// The last earlier instant at which the socket is known to have been empty.
    pub empty_before: Nanos,
    /// The number of bytes that the read returned.
    pub bytes: u32,
}

impl Read {
    /// The arrival of the data: the kernel's timestamp if there is one, otherwise [`Read::user`].
    pub fn arrival(&self) -> Nanos {
        self.kernel.unwrap_or(self.user)
    }
}

/// The content of a stream's event. One message may be several events: a message with the last token, its
/// finish reason and the usage becomes three events of the same read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A message that only announces the role; it is not a token.
    Role,
    /// Answer text.
    Text,
    /// An empty text, in a dialect with one message per token: this token does not complete a character.
    EmptyText,
    /// Text of the model's reasoning, before its answer.
    Reasoning,
    /// A part of a tool call.
    ToolCall,
    /// Token counts as the server reports them.
    Usage,
    /// The finish reason.
    Finish,
    /// An error inside the stream.
    Error,
    /// The dialect's end mark, such as `[DONE]`.
    Done,
    /// A comment line, sent to keep the connection alive, or a message without content for the answer.
    Comment,
}

// The run log stores the position in this list. So the order never changes, and a new kind goes to the end.
crate::names!(EventKind {
    Role => "role", Text => "text", EmptyText => "empty_text", Reasoning => "reasoning",
    ToolCall => "tool_call", Usage => "usage", Finish => "finish", Error => "error",
    Done => "done", Comment => "comment",
});

impl EventKind {
    /// Whether the event is output of the model: text, reasoning, a tool call or an incomplete character.
    pub fn is_token(self) -> bool {
        matches!(self, Self::Text | Self::EmptyText | Self::Reasoning | Self::ToolCall)
    }

    /// Whether the event is reasoning. The first such event ends TTFR.
    pub fn is_reasoning(self) -> bool {
        self == Self::Reasoning
    }

    /// Whether the event is a part of the answer: text or a tool call. The first such event ends TTFOT.
    pub fn is_answer(self) -> bool {
        matches!(self, Self::Text | Self::ToolCall)
    }

    /// Whether a user could see the event. The first such event ends TTFT.
    pub fn is_visible(self) -> bool {
        matches!(self, Self::Text | Self::Reasoning | Self::ToolCall)
    }
}

/// One event of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Index into [`Record::reads`] of the read that completed the event.
    pub read: u32,
    /// The content of the event.
    pub kind: EventKind,
    /// The number of characters (Unicode scalar values) of the event's text.
    pub chars: u32,
    /// The number of the event's tokens, if the dialect states it, as token ids or as usage within the
    /// stream.
    pub tokens: Option<u32>,
}

/// The record of one planned request. Every planned request has exactly one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Index of the pass in the run, in the order in which passes are performed.
    pub pass: u32,
    /// Index of the request in its pass, from 0.
    pub index: u32,
    /// The class of the request ([`crate::request::Request::class`]).
    pub class: Option<Box<str>>,
    /// The place of the request in its job; `None` if it belongs to none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<Box<JobCall>>,
    /// The pictures and sounds of the request.
    #[serde(default, skip_serializing_if = "MediaSent::is_none")]
    pub media: MediaSent,
    /// The inputs of a request without output tokens, and the size of its answer.
    #[serde(default, skip_serializing_if = "Pooled::is_none")]
    pub pooled: Pooled,
    /// Prompt tokens that the plan requests, without those of media. 0 if the plan does not determine them, because the prompt
    /// contains answers of the server.
    pub asked_input: u32,
    /// Requested output tokens.
    pub asked_output: u32,
    /// The maximum number of output tokens that the request allows, over all its choices: `max_tokens` x
    /// `n`; `None` if this number is not known.
    pub output_limit: Option<u32>,
    /// Whether a stream was requested ([`crate::request::Sampling::stream`]). A body that is not streamed
    /// shows nothing about the arrivals of its tokens.
    pub streamed: bool,
    /// Whether the request asks the server not to send the reasoning ([`crate::request::Request::hides_reasoning`]).
    /// False in records of versions without this key.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hides_reasoning: bool,
    /// Whether the text of the answer begins with the tag `<think>`, and was not split at it. False in records of
    /// versions without this key.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub begins_with_think: bool,
    /// Prompt tokens as the run's own tokenizer counts them; `None` if it did not count them.
    pub prompt_tokens_tokenizer: Option<u32>,

    /// When the request should start according to the plan.
    pub due: Nanos,
    /// When the client began to process the request.
    pub picked: Option<Nanos>,
    /// When the connection was ready; `None` if the request did not open a new one.
    pub connected: Option<Nanos>,
    /// Whether the connection had been used for another request before. `None` if the request had no
    /// connection, and in records of versions without this key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_connection: Option<bool>,
    /// When the first byte of the request was given to the kernel.
    pub send_start: Option<Nanos>,
    /// When the last byte of the request was given to the kernel.
    pub sent: Option<Nanos>,
    /// When the status line and the headers of the response were complete.
    pub headers: Option<Nanos>,
    /// Socket reads, in order.
    pub reads: Vec<Read>,
    /// Events of the stream, in order. A body that is not streamed becomes one text event, its usage and its
    /// finish reason.
    pub events: Vec<Event>,
    /// When the body or the connection ended, or when the client ended the request.
    pub ended: Option<Nanos>,

    /// The outcome of the request.
    pub outcome: Outcome,
    /// The HTTP status; `None` if no status line was read.
    pub status: Option<u16>,
    /// Why the request did not complete.
    pub detail: Option<Detail>,
    /// The finish reason, as the server states it.
    pub finish_reason: Option<String>,
    /// Token counts as the server reports them.
    pub usage: Usage,
    /// Times of the request as the server reports them; empty if it reports none.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub server_times: ServerTimes,
    /// Messages of the stream that are neither output, error, usage nor end.
    #[serde(default, skip_serializing_if = "Skipped::is_empty")]
    pub skipped: Skipped,
    /// The form of the answer; `None` if the request asks for none, if it did not complete, and if it has several
    /// answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<Box<Structured>>,
    /// The number of answers (choices) in the response, if there are several; otherwise 0 or 1.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub choices: u32,
    /// Output tokens, counted by the tokenizer that the user named.
    pub tokens_tokenizer: Option<u32>,
    /// The server that the request was assigned to, if the load has several servers: from 0, in the order of
    /// [`crate::target::Target::servers`]. `None` with a single server, or if the request was assigned to
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<u32>,
    /// The rank that sent the request, from 0; `None` if one process measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// The number from which the identity of the request in a tracer is computed; 0 if the request had none.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub trace: u64,
}

/// The longest text of a [`Record::detail`], in characters. A longer text is cut and ends with an ellipsis.
pub const MAX_DETAIL_CHARS: usize = 500;

impl Record {
    /// Adds `by` to all instants. The record is then on a clock with an origin that is earlier by `by`.
    #[must_use]
    pub fn later(mut self, by: Nanos) -> Self {
        let instants = [
            &mut self.picked, &mut self.connected, &mut self.send_start, &mut self.sent,
            &mut self.headers, &mut self.ended,
        ];
        instants.into_iter().flatten().for_each(|instant| instant.0 += by.0);
        self.due.0 += by.0;
        for read in &mut self.reads {
            read.kernel.iter_mut().for_each(|instant| instant.0 += by.0);
            read.user.0 += by.0;
            read.empty_before.0 += by.0;
        }
        self
    }

    /// Changes the record as if its pass had been cut off at the instant `at`. If the cut changes the
    /// record, `why` becomes its detail.
    #[must_use]
    pub fn cut_off(mut self, at: Nanos, why: Detail) -> Self {
        let detail = Some(why);
        // A request that still waited for a free slot has not begun either.
        let waited = self.ended.is_some() && self.send_start.is_some_and(|sent| sent > at);
        if self.due > at || waited {
            let never = Self::planned(self.pass, self.index, at);
            let Self { class, job, media, pooled, asked_input, asked_output, .. } = self;
            let Self { output_limit, streamed, .. } = self;
            return Self {
                class,
                job,
                media,
                pooled,
                asked_input,
                asked_output,
                output_limit,
                streamed,
                detail,
                ..never
            };
        }
        if self.ended.is_none_or(|ended| ended <= at) {
            return self;
        }
        let by_then = |instant: &Nanos| *instant <= at;
        self.detail = detail;
        self.picked = self.picked.filter(by_then);
        self.connected = self.connected.filter(by_then);
        self.send_start = self.send_start.filter(by_then);
        self.sent = self.sent.filter(by_then);
        self.reads.retain(|read| read.arrival() <= at);
        self.events.retain(|event| (event.read as usize) < self.reads.len());
        self.headers = self.headers.filter(by_then);
        self.status = self.status.filter(|_| self.headers.is_some());
        self.outcome = Outcome::Cancelled;
        self.finish_reason = None;
        self.usage = Usage::default();
        self.server_times = ServerTimes::default();
        self.skipped = Skipped::default();
        self.structured = None;
        self.ended = Some(at);
        self
    }

    /// Adds `by_ns` nanoseconds to all instants, to move the record to the axis of another clock.
    pub fn shift(&mut self, by_ns: i64) {
        let shift = |at: &mut Nanos| at.0 = at.0.saturating_add_signed(by_ns);
        shift(&mut self.due);
        let Self { picked, connected, send_start, sent, headers, ended, .. } = self;
        let single = [picked, connected, send_start, sent, headers, ended];
        single.into_iter().flatten().for_each(shift);
        for read in &mut self.reads {
            read.kernel.iter_mut().for_each(shift);
            shift(&mut read.user);
            shift(&mut read.empty_before);
        }
    }

    /// A record of a streamed request that has not begun. Its outcome is [`Outcome::Skipped`] until the
    /// caller sets another one.
    pub fn planned(pass: u32, index: u32, due: Nanos) -> Self {
        Self { pass, index, due, streamed: true, ..Self::default() }
    }

    /// When an event arrived.
    ///
    /// # Panics
    /// If the event's read is not in this record.
    pub fn arrival(&self, event: &Event) -> Nanos {
        self.reads[event.read as usize].arrival()
    }

    /// Prompt tokens: the server's count, otherwise that of the run's own tokenizer.
    pub fn input_tokens(&self) -> Option<u32> {
        self.usage.prompt.or(self.prompt_tokens_tokenizer)
    }

    /// Why the request did not complete, as text.
    pub fn detail_text(&self) -> Option<&str> {
        self.detail.as_ref().map(Detail::text)
    }

    /// When the request ended, for the load model; its due time if it never began.
    pub fn ended_or_due(&self) -> Nanos {
        self.ended.unwrap_or(self.due)
    }
}

/// Cuts a message to [`MAX_DETAIL_CHARS`] characters.
pub fn detail(message: &str) -> String {
    crate::visible::cut(message, MAX_DETAIL_CHARS)
}
