//! TTFOT: time to first output token, for a model that reasons before it answers.

use super::{Definition, ErrorBound, ErrorMargin, JudgedOn, OnRequests, Origin, Timeline, Value};
use crate::EventKind;

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
    result_key: "ttfot_ms",
    judged: JudgedOn::OnRequests(OnRequests {
        value: from_sent,
        at_least: |request| request.sent.map_or(0.0, |sent| request.first.ms_after(sent)),
        needs_stream: true,
    }),
    bound: Some(ErrorBound { key: None, of: width_of_first_text }),
    exported: Some(8),
    ..Definition::DEFAULT
};

/// TTFOT from the due time, including the client's own delays.
pub static FROM_DUE: Definition = Definition {
    name: "ttfot_from_due",
    formula: "first event with answer text - due",
    origin: Some(Origin::Due),
    value: Value::Request(from_due),
    title: "TTFOT from due",
    result_key: "ttfot_from_due_ms",
    judged: JudgedOn::OnRequests(OnRequests {
        value: from_due,
        at_least: |request| request.first.ms_after(request.due),
        needs_stream: true,
    }),
    exported: Some(9),
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
    let answer = &timeline.events[first_text(timeline)?];
    Some(answer.arrival.ms_after(timeline.origin(origin)?))
}

fn first_text(timeline: &Timeline<'_>) -> Option<usize> {
    timeline.events.iter().position(|event| event.kind == EventKind::Text)
}

fn width_of_first_text(timeline: &Timeline<'_>, margins: &mut Vec<ErrorMargin>) {
    margins.extend(
        first_text(timeline).map(|first| ErrorMargin::below(timeline.events[first].width_ms)),
    );
}
