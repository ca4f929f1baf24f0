//! TTFOT: time to first output token, for a model that reasons before it answers.

use super::{
    Definition, ErrorBound, ErrorMargin, JudgedOn, Origin, Pending, Statistic, Timeline, Value,
};
use crate::EventKind;

/// TTFOT from the send to the first part of the answer.
pub static FROM_SENT: Definition = Definition {
    name: "ttfot",
    formula: "first event with answer text or a tool call - send_start",
    origin: Some(Origin::Sent),
    notes: "Differs from TTFT if reasoning comes first. Absent without streaming, and without answer text or a tool \
        call.",
    version: 2,
    source: "Inferometer; AIPerf calls it time to first output token.",
    value: Value::Request(from_sent),
    title: "TTFOT",
    result_key: "ttfot_ms",
    judged: JudgedOn::on_streams(from_sent, Pending::first_after_sent_ms),
    when_reasoning: &[Statistic::P50, Statistic::P99],
    bound: Some(ErrorBound { key: None, of: width_of_first }),
    exported: Some(8),
    ..Definition::DEFAULT
};

/// TTFOT from the due time, including the client's own delays.
pub static FROM_DUE: Definition = Definition {
    name: "ttfot_from_due",
    formula: "first event with answer text or a tool call - due",
    origin: Some(Origin::Due),
    value: Value::Request(from_due),
    title: "TTFOT from due",
    result_key: "ttfot_from_due_ms",
    judged: JudgedOn::on_streams(from_due, Pending::first_after_due_ms),
    when_reasoning: &[],
    exported: Some(9),
    ..FROM_SENT
};

/// Milliseconds from the send to the first part of the answer.
pub fn from_sent(timeline: &Timeline<'_>) -> Option<f64> {
    timeline.ms_to_first(EventKind::is_answer, Origin::Sent)
}

/// Milliseconds from the due time to the first part of the answer.
pub fn from_due(timeline: &Timeline<'_>) -> Option<f64> {
    timeline.ms_to_first(EventKind::is_answer, Origin::Due)
}

fn width_of_first(timeline: &Timeline<'_>, margins: &mut Vec<ErrorMargin>) {
    let width_ms = timeline.width_of_first_ms(EventKind::is_answer);
    margins.extend(width_ms.map(ErrorMargin::below));
}
