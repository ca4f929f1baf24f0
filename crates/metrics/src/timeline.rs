//! A record in the form that metrics need: the token events with their arrivals and tokens.
//!
//! Never here: a metric. Otherwise two metrics could count the tokens of an event differently.

use inferometer_model::record::{EventKind, Record, TokensFrom};
use inferometer_model::time::Nanos;

use super::Origin;

/// A token event: when it arrived, what it is, how many tokens it counts for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TokenEvent {
    /// The arrival of its read.
    pub arrival: Nanos,
    /// Text, empty text, reasoning or a tool call.
    pub kind: EventKind,
    /// Tokens; a fraction if the request's tokens are spread over its events.
    pub tokens: f64,
}

/// One record with its token events.
#[derive(Clone, Debug)]
pub struct Timeline<'a> {
    /// The record.
    pub record: &'a Record,
    /// The token events, in order; empty if nothing was streamed: E2E then ends at the body's end.
    pub events: Vec<TokenEvent>,
    /// Output tokens by the record's best source; 0 if they were not counted.
    pub output_tokens: u32,
    /// The source of the count; absent if there was none: a body that is not streamed has no events to
    /// count.
    pub tokens_from: Option<TokensFrom>,
}

impl<'a> Timeline<'a> {
    /// The timeline of a record.
    pub fn new(record: &'a Record) -> Self {
        let streamed = record.streamed;
        let (counted, from) = record.output_tokens();
        let tokens_from = (streamed || from != TokensFrom::Events).then_some(from);
        let output_tokens = tokens_from.map_or(0, |_| counted);
        let events = if streamed { token_events(record, output_tokens) } else { Vec::new() };
        Self { record, events, output_tokens, tokens_from }
    }

    /// The instant from which a metric counts.
    pub fn origin(&self, origin: Origin) -> Option<Nanos> {
        match origin {
            Origin::Sent => self.record.send_start,
            // For a request that was never sent, nothing can be counted from its due time.
            Origin::Due => self.record.send_start.map(|_| self.record.due),
        }
    }

    /// The index of the first event that a person could see: a role or an empty text is not visible.
    pub fn first_visible(&self) -> Option<usize> {
        self.events.iter().position(|event| event.kind.is_visible())
    }
}

/// The tokens of each event: as the events state them if all do, else the request's tokens spread evenly
/// over its token events.
fn token_events(record: &Record, output_tokens: u32) -> Vec<TokenEvent> {
    let all_known = record.token_events().all(|event| event.tokens.is_some());
    let even = f64::from(output_tokens) / record.token_events().count() as f64;
    record
        .token_events()
        .map(|event| TokenEvent {
            arrival: record.arrival(event),
            kind: event.kind,
            tokens: match event.tokens {
                Some(tokens) if all_known => f64::from(tokens),
                _ => even,
            },
        })
        .collect()
}
