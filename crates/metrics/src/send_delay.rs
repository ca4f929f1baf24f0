//! Send delay: the client's own share of a latency. Never the server's.

use super::{Definition, Direction, Judged, OnRequests, Origin, Over, Timeline, Unit, Value};

/// Send delay.
pub static DEFINITION: Definition = Definition {
    name: "send_delay",
    formula: "send_start - due",
    unit: Unit::Milliseconds,
    origin: Some(Origin::Due),
    direction: Some(Direction::Lower),
    over: Over::Sent,
    notes: "Waiting for a slot, for a connection and for the client itself. Taken over every \
            request that was sent, failed ones included.",
    source: "Inferometer.",
    version: 1,
    value: Value::Request(send_delay_ms),
    title: "Send delay",
    result_key: Some("send_delay_ms"),
    of_classes: false,
    judged: Judged::OnRequests(OnRequests {
        value: send_delay_ms,
        at_least: |request| request.sent.unwrap_or(request.at).ms_after(request.due),
        needs_stream: false,
    }),
};

/// Milliseconds from the due time to the send.
#[must_use]
pub fn send_delay_ms(timeline: &Timeline<'_>) -> Option<f64> {
    Some(timeline.record.send_start?.ms_after(timeline.record.due))
}
