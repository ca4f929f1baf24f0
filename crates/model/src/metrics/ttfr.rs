//! TTFR: time to first reasoning, for a model that reasons before it answers.

use super::{
    Definition, ErrorBound, ErrorMargin, JudgedOn, Origin, Pending, Statistic, Timeline, Value,
};
use crate::EventKind;

/// TTFR from the send to the first reasoning.
pub static FROM_SENT: Definition = Definition {
    name: "ttfr",
    formula: "first event with reasoning - send_start",
    origin: Some(Origin::Sent),
    notes: "Absent without streaming, and without an event with reasoning: the server may hide its reasoning, or send \
        it in the text of the answer (see --split-think).",
    value: Value::Request(from_sent),
    title: "TTFR",
    result_key: "ttfr_ms",
    judged: JudgedOn::on_streams(from_sent, Pending::first_after_sent_ms),
    optional: true,
    when_reasoning: &[Statistic::P50, Statistic::P99],
    bound: Some(ErrorBound { key: None, of: width_of_first }),
    exported: Some(11),
    ..Definition::DEFAULT
};

/// TTFR from the due time, including the client's own delays.
pub static FROM_DUE: Definition = Definition {
    name: "ttfr_from_due",
    formula: "first event with reasoning - due",
    origin: Some(Origin::Due),
    value: Value::Request(from_due),
    title: "TTFR from due",
    result_key: "ttfr_from_due_ms",
    judged: JudgedOn::on_streams(from_due, Pending::first_after_due_ms),
    when_reasoning: &[],
    exported: Some(12),
    ..FROM_SENT
};

/// Milliseconds from the send to the first reasoning.
pub fn from_sent(timeline: &Timeline<'_>) -> Option<f64> {
    timeline.ms_to_first(EventKind::is_reasoning, Origin::Sent)
}

/// Milliseconds from the due time to the first reasoning.
pub fn from_due(timeline: &Timeline<'_>) -> Option<f64> {
    timeline.ms_to_first(EventKind::is_reasoning, Origin::Due)
}

fn width_of_first(timeline: &Timeline<'_>, margins: &mut Vec<ErrorMargin>) {
    let width_ms = timeline.width_of_first_ms(EventKind::is_reasoning);
    margins.extend(width_ms.map(ErrorMargin::below));
}
