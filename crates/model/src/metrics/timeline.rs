//! A record in the form that metrics need: the token events with their arrivals and numbers of tokens.
//!
//! All metrics of single requests use this form, so that they count the tokens of an event in the same way.

use super::Origin;
use crate::{EventKind, Nanos, Record, TokensFrom};

/// A token event: its arrival, its kind, and its number of tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TokenEvent {
    /// The arrival of the read that completed the event.
    pub arrival: Nanos,
    /// The kind of output: text, empty text, reasoning or a tool call.
    pub kind: EventKind,
    /// The number of tokens; a fraction if the request's tokens are spread evenly over its events.
    pub tokens: f64,
}

/// One record with its token events.
#[derive(Clone, Debug)]
pub struct Timeline<'a> {
    /// The record.
    pub record: &'a Record,
    /// The token events, in order. Empty if the response is not streamed.
    pub events: Vec<TokenEvent>,
    /// The number of output tokens ([`Record::output_tokens`]); 0 if they were not counted.
    pub output_tokens: u32,
    /// The source of the count. Absent if there is no count: the response is not streamed, so that no events can be
    /// counted, and there is no other source.
    pub tokens_from: Option<TokensFrom>,
    /// What [`Record::output_tokens`] returns, also for a response that is not streamed.
    pub counted: (u32, TokensFrom),
}

impl<'a> Timeline<'a> {
    /// The timeline of a record. This is most of the work of reading a record. So it is made once, when the record
    /// arrives, and handed to everything that needs figures of the request.
    pub fn new(record: &'a Record) -> Self {
        let streamed = record.streamed;
        let (counted, from) = record.output_tokens();
        let tokens_from = (streamed || from != TokensFrom::Events).then_some(from);
        let output_tokens = tokens_from.map_or(0, |_| counted);
        let events = if streamed { token_events(record, output_tokens) } else { Vec::new() };
        Self { record, events, output_tokens, tokens_from, counted: (counted, from) }
    }

    /// The instant from which a metric counts; absent if the request was never sent.
    pub fn origin(&self, origin: Origin) -> Option<Nanos> {
        match origin {
            Origin::Sent => self.record.send_start,
            // A request that was never sent has no latency, although it has a due time.
            Origin::Due => self.record.send_start.map(|_| self.record.due),
        }
    }

    /// The index of the first visible event; a role or an empty text is not visible.
    pub fn first_visible(&self) -> Option<usize> {
        self.events.iter().position(|event| event.kind.is_visible())
    }
}

/// The token events with their numbers of tokens. If one event does not state its number, or the sum of the numbers is
/// an impossible count, the request's tokens are spread evenly over all token events.
fn token_events(record: &Record, output_tokens: u32) -> Vec<TokenEvent> {
    let mut events = Vec::with_capacity(record.events.len());
    let mut all_known = true;
    for event in record.token_events() {
        all_known &= event.tokens.is_some();
        events.push(TokenEvent {
            arrival: record.arrival(event),
            kind: event.kind,
            tokens: event.tokens.map_or(0.0, f64::from),
        });
    }
    if !(all_known && record.can_have_tokens_of_events()) {
        let even = f64::from(output_tokens) / events.len() as f64;
        events.iter_mut().for_each(|event| event.tokens = even);
    }
    events
}
