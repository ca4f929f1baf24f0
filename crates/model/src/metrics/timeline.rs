//! A record in the form that metrics need: the token events with their arrivals and numbers of tokens.
//!
//! All metrics of single requests use this form, so that they count the tokens of an event in the same way.

use super::arrival_widths::{end_width_ms, width_ms};
use super::{Bundles, HiddenTokens, Origin, TokenEvent};
use crate::{EventKind, Nanos, Record, TokensFrom};

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
    /// The number of reasoning tokens and its source; absent if the request has no reasoning.
    pub reasoning: Option<(u32, TokensFrom)>,
    /// The tokens without an event. Those before the first visible event count as tokens of the first token event.
    pub hidden: HiddenTokens,
    /// How the token events are distributed over reads.
    pub bundles: Bundles,
    /// How much earlier than measured the request may have ended, in milliseconds.
    pub end_width_ms: f64,
}

impl<'a> Timeline<'a> {
    /// The timeline of a record. This is most of the work of reading a record. So it is made once, when the record
    /// arrives, and handed to everything that needs figures of the request.
    pub fn new(record: &'a Record) -> Self {
        let streamed = record.streamed;
        let (counted, from) = record.output_tokens();
        let tokens_from = (streamed || from != TokensFrom::Events).then_some(from);
        let output_tokens = tokens_from.map_or(0, |_| counted);
        let mut timeline = Self {
            record,
            events: Vec::new(),
            output_tokens,
            tokens_from,
            counted: (counted, from),
            reasoning: record.reasoning_tokens(counted),
            hidden: HiddenTokens::default(),
            bundles: Bundles::default(),
            end_width_ms: end_width_ms(record),
        };
        if streamed {
            timeline.read_events();
        }
        timeline
    }

    /// Whether every arrival time of the request is exact.
    pub fn is_exact(&self) -> bool {
        self.end_width_ms == 0.0 && self.events.iter().all(|event| event.width_ms == 0.0)
    }

    /// The instant from which a metric counts; absent if the request was never sent.
    pub fn origin(&self, origin: Origin) -> Option<Nanos> {
        match origin {
            Origin::Sent => self.record.send_start,
            // A request that was never sent has no latency, although it has a due time.
            Origin::Due => self.record.send_start.map(|_| self.record.due),
        }
    }

    /// The token events if the times between tokens are known, otherwise none.
    pub fn with_known_gaps(&self) -> &[TokenEvent] {
        if self.hidden.is_unknown { &[] } else { &self.events }
    }

    /// The index of the first visible event; a role or an empty text is not visible.
    pub fn first_visible(&self) -> Option<usize> {
        self.events.iter().position(|event| event.kind.is_visible())
    }

    /// Milliseconds to the first event of a kind; absent if there is none.
    pub(super) fn ms_to_first(&self, is: fn(EventKind) -> bool, origin: Origin) -> Option<f64> {
        self.ms_to(self.events.iter().find(|event| is(event.kind))?, origin)
    }

    /// Milliseconds from an instant of the request to an event.
    pub(super) fn ms_to(&self, event: &TokenEvent, origin: Origin) -> Option<f64> {
        Some(event.arrival.ms_after(self.origin(origin)?))
    }

    /// How much earlier than measured the first event of a kind may have arrived, in milliseconds.
    pub(super) fn width_of_first_ms(&self, is: fn(EventKind) -> bool) -> Option<f64> {
        self.events.iter().find(|event| is(event.kind)).map(|event| event.width_ms)
    }

    /// Adds the token events with their numbers of tokens. If one event does not state its number, or the sum of the
    /// numbers is an impossible count, the request's tokens are spread evenly over all token events. Tokens that lie
    /// before the first visible event without an event of their own are added to the first token event.
    fn read_events(&mut self) {
        let record = self.record;
        self.events.reserve(record.events.len());
        let mut all_known = true;
        for (at, event) in record.events.iter().enumerate() {
            if !event.kind.is_token() {
                continue;
            }
            all_known &= event.tokens.is_some();
            self.bundles.add(event.read, event.kind.is_visible());
            self.events.push(TokenEvent {
                arrival: record.arrival(event),
                kind: event.kind,
                tokens: event.tokens.map_or(0.0, f64::from),
                width_ms: width_ms(record, at),
            });
        }
        let is_known = all_known && record.can_have_tokens_of_events();
        self.hidden = HiddenTokens::of(record, &self.events, is_known, self.counted);
        let before = self.hidden.before;
        if !is_known {
            let even = f64::from(self.counted.0 - before) / self.events.len() as f64;
            self.events.iter_mut().for_each(|event| event.tokens = even);
        }
        if let Some(first) = self.events.first_mut() {
            first.tokens += f64::from(before);
        }
    }
}
