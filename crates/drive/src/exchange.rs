//! One request in flight: its record so far, the bytes left to send, and the response so far. This module
//! uses no socket.

use inferometer_model::load::LeaveAfter;
use inferometer_model::{Detail, Nanos, Outcome, Phase, Record, record::Read};
use inferometer_net::Arrived;
use inferometer_plan::Timeouts;
use inferometer_wire::exchange::{Progress, ResponseReader};

use crate::memory::{KEPT, text_of_answer};
use crate::{ANSWER_BYTES, encode::Encoded, of_answer, outgoing::Outgoing, watch::InFlight};

/// A request between its start and its end.
pub(crate) struct Exchange {
    pub record: Record,
    /// The number of the conversation that the request belongs to, and its place there.
    of: (u32, u32),
    reader: ResponseReader,
    outgoing: Outgoing,
    /// The arrival of the latest token event, for the timeouts, and of the first token event.
    last_token: Option<Nanos>,
    first_token: Option<Nanos>,
    /// Output tokens that have arrived.
    tokens: u32,
    /// When the client leaves; `None` if it stays.
    pub leaves: Option<LeaveAfter>,
    /// The memory of the response when it was last counted, in bytes.
    pub counted_bytes: usize,
}

/// The maximum number of reads, and of events, of one response. The run log could store about twice as many.
const MAX_EVENTS: usize = 2_000_000;

/// What one read changed.
pub(crate) struct Fed {
    pub progress: Progress,
    /// The number of token events in the read.
    pub tokens: u64,
    /// False if the memory of the response is known to be the same, apart from a part of a line that this read may have
    /// begun: nearly every read is one event in reserved memory.
    pub may_have_grown: bool,
}

/// The result of an exchange that has ended.
pub(crate) struct Finished {
    pub record: Record,
    /// The number of the conversation that the request belongs to, and its place there.
    pub of: (u32, u32),
    /// Whether a token arrived.
    pub has_token: bool,
    /// The answer's text, if texts are stored.
    pub answer: Option<String>,
    /// The reasoning's text, if texts are stored and reasoning is separate from the answer.
    pub reasoning: Option<String>,
    /// Whether the connection may be used for another request.
    pub reusable: bool,
    /// The memory of the response when it was last counted, in bytes.
    pub counted_bytes: usize,
}

/// The maximum number of reads and events for which memory is reserved.
const MAX_EXPECTED: usize = 4_096;

impl Exchange {
    pub fn new(mut record: Record, encoded: Encoded) -> Self {
        // One read and one event per token, and four more: the head, the finish reason, the usage and the end
        // mark.
        let expected = (encoded.info.output as usize).saturating_add(4).min(MAX_EXPECTED);
        record.reads.reserve(expected);
        let mut reader = encoded.reader;
        reader.expect_events(expected);
        Self {
            record,
            of: encoded.of,
            reader,
            outgoing: encoded.outgoing,
            last_token: None,
            first_token: None,
            tokens: 0,
            leaves: None,
            counted_bytes: 0,
        }
    }

    /// The memory of the response so far, in bytes.
    pub fn answer_bytes(&self) -> usize {
        self.record.reads.capacity() * size_of::<Read>() + self.reader.memory()
    }

    /// By how much the memory of the response exceeds the memory that the plan needs for it, in bytes.
    pub fn surplus_bytes(&self) -> usize {
        self.counted_bytes.saturating_sub(of_answer(self.record.planned_output()))
    }

    /// The state of the request now, for the watcher.
    pub fn in_flight(&self, now: Nanos) -> InFlight {
        let Record { index, due, send_start, .. } = self.record;
        InFlight { index, due, send_start, first: self.first_token, seen: now }
    }

    /// The next bytes that are left to send; empty if all are sent.
    pub fn unsent(&self) -> &[u8] {
        self.outgoing.unsent()
    }

    /// Records that the kernel accepted `count` bytes at the instant `at`.
    pub fn wrote(&mut self, count: usize, at: Nanos) {
        self.outgoing.sent(count);
        if self.unsent().is_empty() && self.record.sent.is_none() {
            self.record.sent = Some(at);
        }
    }

    /// Adds one read.
    pub fn feed(&mut self, arrived: &Arrived, bytes: &[u8]) -> Fed {
        // No part of a response arrives before its request is sent.
        let sent = self.record.send_start.unwrap_or(Nanos::ZERO);
        let read = Read {
            kernel: arrived.kernel,
            user: arrived.user,
            empty_before: arrived.empty_before.max(sent),
            bytes: arrived.bytes as u32,
        };
        let index = self.record.reads.len();
        let has_room =
            index < self.record.reads.capacity().min(MAX_EVENTS) && self.reader.has_room();
        self.record.reads.push(read);
        let before = self.reader.parsed().events.len();
        let progress = self.reader.feed(index as u32, bytes);
        if self.record.headers.is_none() && self.reader.head_seen() {
            self.record.headers = Some(read.arrival());
        }
        let added = &self.reader.parsed().events[before..];
        let is_one_event = added.len() == 1;
        let mut tokens = 0;
        for event in added.iter().filter(|it| it.kind.is_token()) {
            tokens += 1;
            self.tokens += event.tokens.unwrap_or(1);
        }
        if tokens > 0 {
            self.last_token = Some(read.arrival());
            self.first_token = self.first_token.or(self.last_token);
        }
        Fed { progress, tokens, may_have_grown: !(has_room && is_one_event) }
    }

    /// Ends the exchange with the outcome of the response, whose body ended with the last read.
    pub fn finish(self) -> Finished {
        let (outcome, why) = self.reader.verdict();
        let ended = self.record.reads.last().map(Read::arrival);
        let reusable = self.reader.keep_alive() && self.unsent().is_empty();
        self.close(outcome, said(why), ended, reusable)
    }

    /// Ends the exchange with the outcome of the response, after the connection was closed.
    pub fn finish_closed(mut self, at: Nanos) -> Finished {
        self.reader.eof();
        let (outcome, why) = self.reader.verdict();
        self.close(outcome, said(why), Some(at), false)
    }

    /// The reason if the response has more memory, text, reads or events than allowed; otherwise `None`.
    pub fn too_large(&self) -> Option<String> {
        let text = self.reader.parsed().text_bytes();
        let events = self.record.reads.len().max(self.reader.parsed().events.len());
        // This function runs at each read. Within the limits that hold for every answer, the plan is not needed.
        if self.counted_bytes <= ANSWER_BYTES && text <= text_of_answer(0) && events <= MAX_EVENTS {
            return None;
        }
        let most = ANSWER_BYTES.max(of_answer(self.record.planned_output()));
        if self.counted_bytes > most {
            return Some(format!("an answer that takes more than {} MiB of memory", most >> 20));
        }
        let most_text = text_of_answer(self.record.planned_output());
        if text > most_text {
            let most = most_text >> 10;
            return Some(format!(
                "an answer of more than {most} KiB of text, the limit for stored texts"
            ));
        }
        (events > MAX_EVENTS)
            .then(|| format!("an answer of more than {MAX_EVENTS} reads or events"))
    }

    /// Ends the exchange because its response is too large. The record contains only the first reads and
    /// events.
    pub fn abandon_large(mut self, why: &str, at: Nanos) -> Finished {
        let came = self.record.reads.len().max(self.reader.parsed().events.len());
        self.record.reads.truncate(KEPT);
        self.record.reads.shrink_to_fit();
        self.reader.keep_beginning(self.record.reads.len() as u32, KEPT);
        let kept = match came > KEPT {
            true => format!("; the first {KEPT} reads and events are recorded"),
            false => String::new(),
        };
        let why = format!("{why} (docs/limits.md){kept}");
        self.close(Outcome::Malformed, Some(Detail::said(&why)), Some(at), false)
    }

    /// Ends the exchange because of a time-out, a cancellation or a broken connection.
    pub fn abandon(self, outcome: Outcome, why: Option<Detail>, at: Nanos) -> Finished {
        self.close(outcome, why, Some(at), false)
    }

    fn close(
        mut self,
        outcome: Outcome,
        why: Option<Detail>,
        ended: Option<Nanos>,
        reusable: bool,
    ) -> Finished {
        self.record.outcome = outcome;
        self.record.detail = why;
        self.record.ended = ended;
        self.record.status = self.reader.status();
        self.record.structured =
            outcome.is_complete().then(|| self.reader.form()).flatten().map(Box::new);
        let answer = self.reader.into_parsed();
        self.record.begins_with_think = answer.begins_with_think();
        self.record.events = answer.events;
        // Releases the unused part of the memory that was reserved for the answer: the record may wait to be written.
        self.record.reads.shrink_to_fit();
        self.record.events.shrink_to_fit();
        self.record.finish_reason = answer.finish_reason;
        self.record.usage = answer.usage;
        self.record.server_times = answer.server_times;
        self.record.skipped = answer.skipped;
        self.record.choices = answer.choices;
        self.record.pooled.dimension = answer.dimension;
        Finished {
            record: self.record,
            of: self.of,
            has_token: self.first_token.is_some(),
            answer: answer.text,
            reasoning: answer.reasoning,
            reusable,
            counted_bytes: self.counted_bytes,
        }
    }

    /// Whether a token arrived.
    pub fn has_token(&self) -> bool {
        self.first_token.is_some()
    }

    /// Whether any byte of a response arrived.
    pub fn answered(&self) -> bool {
        !self.record.reads.is_empty()
    }

    /// The present phase of the exchange, for its outcome.
    pub fn phase(&self) -> Phase {
        if self.record.send_start.is_none() {
            Phase::Connect
        } else if self.record.sent.is_none() {
            Phase::Send
        } else if self.record.headers.is_none() {
            Phase::Headers
        } else if self.last_token.is_none() {
            Phase::FirstToken
        } else {
            Phase::BetweenEvents
        }
    }

    /// Whether so many tokens have arrived that the client leaves now.
    pub fn has_enough(&self) -> bool {
        matches!(self.leaves, Some(LeaveAfter::Tokens(most)) if self.tokens >= most)
    }

    /// How the exchange ends if its client leaves now.
    pub fn abandoned(&self) -> Outcome {
        Outcome::Abandoned { phase: self.phase() }
    }

    /// The instant at which the client leaves, if this depends on the time.
    fn leaves_at(&self) -> Option<Nanos> {
        let after = match self.leaves? {
            LeaveAfter::Time(time) => time,
            LeaveAfter::NoToken(time) if self.first_token.is_none() => time,
            LeaveAfter::NoToken(_) | LeaveAfter::Tokens(_) => return None,
        };
        Some(self.record.sent.or(self.record.send_start)? + after)
    }

    /// The earliest deadline that runs now, of the timeouts and of a client that leaves, and how it ends the exchange.
    pub fn deadline(&self, timeouts: &Timeouts) -> Option<(Nanos, Outcome)> {
        let timed_out = |(at, phase)| (at, Outcome::TimedOut { phase });
        let Some(sent) = self.record.send_start else {
            let began = self.record.picked.unwrap_or(self.record.due);
            return timeouts.connect.map(|limit| timed_out((began + limit, Phase::Connect)));
        };
        let total = timeouts.total.map(|limit| (sent + limit, Phase::Total));
        let phase = match self.last_token {
            None => timeouts.first_token.map(|limit| (sent + limit, self.phase())),
            Some(last) => timeouts.between_events.map(|limit| (last + limit, Phase::BetweenEvents)),
        };
        let limits = [total.map(timed_out), phase.map(timed_out)];
        let leaves = self.leaves_at().map(|at| (at, self.abandoned()));
        limits.into_iter().chain([leaves]).flatten().min_by_key(|&(at, _)| at)
    }
}

/// The detail with the message of a verdict.
fn said(message: Option<String>) -> Option<Detail> {
    message.map(|message| Detail::said(&message))
}
