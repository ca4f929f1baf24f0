//! TTFOT: time to first output token, when the model reasons before it answers.

use inferometer_model::record::EventKind;

use super::{Definition, Direction, Judged, Origin, Over, Timeline, Unit, Value};

/// TTFOT from the send.
pub static FROM_SENT: Definition = Definition {
    name: "ttfot",
    formula: "first event with answer text - send_start",
    unit: Unit::Milliseconds,
    origin: Some(Origin::Sent),
    direction: Some(Direction::Lower),
    over: Over::Completed,
    notes: "Equals TTFT unless reasoning or a tool call comes first. Absent without streaming \
            or without answer text.",
    source: "Inferometer; AIPerf calls it time to first output token.",
    version: 1,
    value: Value::Request(from_sent),
    title: "TTFOT",
    result_key: None,
    of_classes: false,
    judged: Judged::No,
};

/// TTFOT from the due time.
pub static FROM_DUE: Definition = Definition {
    name: "ttfot_from_due",
    formula: "first event with answer text - due",
    origin: Some(Origin::Due),
    value: Value::Request(from_due),
    title: "TTFOT from due",
    ..FROM_SENT
};

/// Milliseconds from the send to the first answer text.
#[must_use]
pub fn from_sent(timeline: &Timeline<'_>) -> Option<f64> {
    ttfot_ms(timeline, Origin::Sent)
}

/// Milliseconds from the due time to the first answer text.
#[must_use]
pub fn from_due(timeline: &Timeline<'_>) -> Option<f64> {
    ttfot_ms(timeline, Origin::Due)
}

fn ttfot_ms(timeline: &Timeline<'_>, origin: Origin) -> Option<f64> {
    let answer = timeline.events.iter().find(|event| event.kind == EventKind::Text)?;
    Some(answer.arrival.ms_after(timeline.origin(origin)?))
}
