//! E2E: end-to-end latency. Never stretched by a late usage event.

use super::{Definition, Direction, Origin, Over, Timeline, Unit, Value};

/// E2E from the send: what the published tables call latency.
pub static FROM_SENT: Definition = Definition {
    name: "e2e",
    formula: "last token event - send_start; without streaming: ended - send_start",
    unit: Unit::Milliseconds,
    origin: Some(Origin::Sent),
    direction: Some(Direction::Lower),
    over: Over::Completed,
    notes: "A late usage event does not stretch it. Absent when a stream brought no token.",
    source: "Inferometer; the `latency` of the published tables.",
    version: 1,
    value: Value::Request(from_sent),
};

/// E2E from the due time.
pub static FROM_DUE: Definition = Definition {
    name: "e2e_from_due",
    formula: "last token event - due; without streaming: ended - due",
    origin: Some(Origin::Due),
    notes: "Includes the client's own queueing and connecting.",
    source: "Inferometer; after Tene, coordinated omission.",
    value: Value::Request(from_due),
    ..FROM_SENT
};

/// Milliseconds from the send to the last token.
#[must_use]
pub fn from_sent(timeline: &Timeline<'_>) -> Option<f64> {
    e2e_ms(timeline, Origin::Sent)
}

/// Milliseconds from the due time to the last token.
#[must_use]
pub fn from_due(timeline: &Timeline<'_>) -> Option<f64> {
    e2e_ms(timeline, Origin::Due)
}

fn e2e_ms(timeline: &Timeline<'_>, origin: Origin) -> Option<f64> {
    let end =
        if timeline.streamed { timeline.events.last()?.arrival } else { timeline.record.ended? };
    Some(end.ms_after(timeline.origin(origin)?))
}
