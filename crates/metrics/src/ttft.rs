//! TTFT: time to first token. Never counted to a role-only or empty first event.

use super::{Definition, Direction, Judged, OnRequests, Origin, Over, Timeline, Unit, Value};

/// TTFT from the send.
pub static FROM_SENT: Definition = Definition {
    name: "ttft",
    formula: "first event with text, reasoning or a tool call - send_start",
    unit: Unit::Milliseconds,
    origin: Some(Origin::Sent),
    direction: Some(Direction::Lower),
    over: Over::Completed,
    notes: "A role-only or empty first event is not a token. Absent without streaming.",
    source: "Inferometer; vLLM and AIPerf mean the same, counted from before connecting.",
    version: 1,
    value: Value::Request(from_sent),
    title: "TTFT",
    result_key: Some("ttft_ms"),
    of_classes: true,
    judged: Judged::OnRequests(OnRequests {
        value: from_sent,
        at_least: |request| request.sent.map_or(0.0, |sent| request.first.ms_after(sent)),
        needs_stream: true,
    }),
};

/// TTFT from the due time.
pub static FROM_DUE: Definition = Definition {
    name: "ttft_from_due",
    formula: "first event with text, reasoning or a tool call - due",
    origin: Some(Origin::Due),
    notes: "Includes the client's own queueing and connecting. Absent without streaming.",
    source: "Inferometer; after Tene, coordinated omission.",
    value: Value::Request(from_due),
    title: "TTFT from due",
    result_key: Some("ttft_from_due_ms"),
    of_classes: false,
    judged: Judged::OnRequests(OnRequests {
        value: from_due,
        at_least: |request| request.first.ms_after(request.due),
        needs_stream: true,
    }),
    ..FROM_SENT
};

/// Milliseconds from the send to the first visible event.
#[must_use]
pub fn from_sent(timeline: &Timeline<'_>) -> Option<f64> {
    ttft_ms(timeline, Origin::Sent)
}

/// Milliseconds from the due time to the first visible event.
#[must_use]
pub fn from_due(timeline: &Timeline<'_>) -> Option<f64> {
    ttft_ms(timeline, Origin::Due)
}

fn ttft_ms(timeline: &Timeline<'_>, origin: Origin) -> Option<f64> {
    let first = &timeline.events[timeline.first_visible()?];
    Some(first.arrival.ms_after(timeline.origin(origin)?))
}
