//! TTFOT: time to first output token, for a model that reasons before it answers.

use inferometer_model::record::EventKind;

use super::{Definition, Origin, Timeline, Value};

/// TTFOT from the send to the first answer text.
pub static FROM_SENT: Definition = Definition {
    name: "ttfot",
    formula: "first event with answer text - send_start",
    origin: Some(Origin::Sent),
    notes: "Differs from TTFT if reasoning or a tool call comes first. Absent without streaming, \
        or without answer text.",
    source: "Inferometer; AIPerf calls it time to first output token.",
    value: Value::Request(from_sent),
    title: "TTFOT",
    ..Definition::DEFAULT
};

/// TTFOT from the due time, including the client's own delays.
pub static FROM_DUE: Definition = Definition {
    name: "ttfot_from_due",
    formula: "first event with answer text - due",
    origin: Some(Origin::Due),
    value: Value::Request(from_due),
    title: "TTFOT from due",
    ..FROM_SENT
};

/// Milliseconds from the send to the first answer text.
pub fn from_sent(timeline: &Timeline<'_>) -> Option<f64> {
    ttfot_ms(timeline, Origin::Sent)
}

/// Milliseconds from the due time to the first answer text.
pub fn from_due(timeline: &Timeline<'_>) -> Option<f64> {
    ttfot_ms(timeline, Origin::Due)
}

fn ttfot_ms(timeline: &Timeline<'_>, origin: Origin) -> Option<f64> {
    let answer = timeline.events.iter().find(|event| event.kind == EventKind::Text)?;
    Some(answer.arrival.ms_after(timeline.origin(origin)?))
}
