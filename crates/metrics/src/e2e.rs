//! E2E: end-to-end latency. Never stretched by a late usage event.

use super::{Definition, Direction, Judged, OnRequests, Origin, Over, Timeline, Unit, Value};

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
    title: "E2E",
    result_key: Some("e2e_ms"),
    of_classes: true,
    judged: Judged::OnRequests(OnRequests {
        value: from_sent,
        at_least: |request| request.sent.map_or(0.0, |sent| request.at.ms_after(sent)),
        needs_stream: false,
    }),
};

/// E2E from the due time.
pub static FROM_DUE: Definition = Definition {
    name: "e2e_from_due",
    formula: "last token event - due; without streaming: ended - due",
    origin: Some(Origin::Due),
    notes: "Includes the client's own queueing and connecting.",
    source: "Inferometer; after Tene, coordinated omission.",
    value: Value::Request(from_due),
    title: "E2E from due",
    result_key: Some("e2e_from_due_ms"),
    of_classes: false,
    judged: Judged::OnRequests(OnRequests {
        value: from_due,
        at_least: |request| request.at.ms_after(request.due),
        needs_stream: false,
    }),
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
    let record = timeline.record;
    let end = if record.streamed { timeline.events.last()?.arrival } else { record.ended? };
    Some(end.ms_after(timeline.origin(origin)?))
}
