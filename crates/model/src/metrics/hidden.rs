//! Output tokens that the server counts, but for which it sends no event: reasoning that it does not show, and tokens
//! without text at the end of the answer.

use super::{arrival_widths::width_ms, token_event::TokenEvent};
use crate::{EventKind, Nanos, Record, TokensFrom};

/// If each event is one token, the server's count and the number of events differ by at most this number: the
/// end-of-text token may have no event. In long outputs, they may differ by `EDGE_SHARE`.
const EDGE: f64 = 1.0;
const EDGE_SHARE: f64 = 0.01;
/// The finish reason ends an answer whose last tokens have no event if it comes at least this many times the time of a
/// token after the last token event.
const LATE_TOKENS: f64 = 0.5;
/// If the finish reason comes after more than this many gaps between token events, the events have other tokens than
/// their share: many of the tokens lie after the last event. Two tokens without an event take two gaps if each event is
/// one token. If the events have several tokens each, the tokens after the last event take at most about one gap.
const SILENT_GAPS: f64 = 1.5;

/// Where the tokens without an event lie.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HiddenTokens {
    /// The number of tokens that are known to lie before the first visible event.
    pub before: u32,
    /// The end of the answer if tokens lie after the last token event: the arrival of the finish reason, and how much
    /// earlier it may have been, in milliseconds.
    pub end: Option<(Nanos, f64)>,
    /// Whether it is unknown where the tokens lie, so that the times between tokens are unknown.
    pub is_unknown: bool,
}

impl HiddenTokens {
    /// The tokens without an event of a stream with these token events and this count of output tokens. An event has 0
    /// tokens unless the server stated them for all events (`known`).
    pub(super) fn of(
        record: &Record,
        events: &[TokenEvent],
        known: bool,
        (tokens, from): (u32, TokensFrom),
    ) -> Self {
        let is_one_answer = record.choices <= 1;
        let carried = |events: &[TokenEvent]| match known {
            true => events.iter().map(|event| event.tokens).sum(),
            false => events.len() as f64,
        };
        let all = f64::from(tokens);
        let silent = all - carried(events);
        let edge = EDGE.max(EDGE_SHARE * all);
        if from != TokensFrom::Usage || silent <= 0.0 {
            return Self { is_unknown: !is_one_answer, ..Self::default() };
        }
        let stated = record.usage.reasoning.unwrap_or(0);
        let shown = if stated > 0 { shown_reasoning(record) } else { 0 };
        let reasoning = if shown == 0 { f64::from(stated) } else { 0.0 };
        let visible = events.iter().position(|event| event.kind.is_visible());
        // A token has at least one character. If fewer are shown, they are a summary of the reasoning.
        let is_summary = shown > 0 && shown < u64::from(stated);
        let mut found = Self { is_unknown: !is_one_answer || is_summary, ..Self::default() };
        if let Some(first) = visible {
            let (seen, rest) = (carried(&events[..first]), carried(&events[first..]));
            found.before = (reasoning - seen).clamp(0.0, silent) as u32;
            found.is_unknown |= reasoning > 0.0 && reasoning + rest > all + edge;
        }
        let left = silent - f64::from(found.before);
        if events.is_empty() || left > edge {
            found.at_end(record, events, all - f64::from(found.before));
            // Each event has its own tokens, so that the others lie between or before events.
            found.is_unknown |= known && found.end.is_none() && !events.is_empty();
            // The tokens may be those of a reasoning whose number the server does not state.
            found.is_unknown |=
                record.hides_reasoning && found.before == 0 && shown_reasoning(record) == 0;
        }
        found
    }

    /// Compares the time of the finish reason with the time of the last token event. `tokens` is the number of tokens
    /// that do not lie before the first visible event.
    fn at_end(&mut self, record: &Record, events: &[TokenEvent], tokens: f64) {
        let is_finish = |kind: EventKind| kind == EventKind::Finish;
        let Some(at) = record.events.iter().rposition(|event| is_finish(event.kind)) else {
            return;
        };
        let finish = record.arrival(&record.events[at]);
        let end = Some((finish, width_ms(record, at)));
        let (Some(first), Some(last)) = (events.first(), events.last()) else {
            self.end = end;
            return;
        };
        let late_ms = finish.ms_after(last.arrival);
        let span_ms = last.arrival.ms_after(first.arrival);
        // Events that came together show no time of a token. Then the answer as a whole does.
        let sent = record.send_start.unwrap_or(record.due);
        let shown_ms = if span_ms > 0.0 { span_ms } else { last.arrival.ms_after(sent) };
        if late_ms >= LATE_TOKENS * shown_ms / tokens && late_ms > 0.0 {
            self.end = end;
            let gaps = (events.len() - 1) as f64;
            self.is_unknown |= gaps > 0.0 && late_ms > SILENT_GAPS * span_ms / gaps;
        }
    }
}

/// The number of characters of the reasoning that the server sent.
fn shown_reasoning(record: &Record) -> u64 {
    let reasoning = record.events.iter().filter(|event| event.kind == EventKind::Reasoning);
    reasoning.map(|event| u64::from(event.chars)).sum()
}
