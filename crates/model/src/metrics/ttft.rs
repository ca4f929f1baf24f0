//! TTFT: time to first token. An event with only a role or an empty text never counts.

use super::{
    Definition, ErrorBound, ErrorMargin, JudgedOn, Live, Origin, Pending, Statistic, Timeline,
    Value,
};
use crate::{EventKind, stats::buckets::FIRST_TOKEN_S};

/// TTFT from the send to the first visible output.
pub static FROM_SENT: Definition = Definition {
    name: "ttft",
    formula: "first event with text, reasoning or a tool call - send_start",
    origin: Some(Origin::Sent),
    notes: "A role-only or empty first event is not a token. Absent without streaming.",
    source: "Inferometer; vLLM and AIPerf use the same end, but start before connecting.",
    value: Value::Request(from_sent),
    title: "TTFT",
    result_key: "ttft_ms",
    of_classes: true,
    judged: JudgedOn::on_streams(from_sent, Pending::first_after_sent_ms),
    in_tables: &[Statistic::P50, Statistic::P99],
    bound: Some(ErrorBound { key: Some("ttft_bound_us"), of: width_of_first }),
    exported: Some(0),
    live: Some(Live {
        place: 0,
        family: "time_to_first_token_seconds",
        help: "From the send to the first visible output, of completed requests.",
        bounds_s: &FIRST_TOKEN_S,
        watched: &[Statistic::P50, Statistic::P99],
    }),
    ..Definition::DEFAULT
};

/// TTFT from the due time, including the client's own delays.
pub static FROM_DUE: Definition = Definition {
    name: "ttft_from_due",
    formula: "first event with text, reasoning or a tool call - due",
    origin: Some(Origin::Due),
    notes: "Includes the client's own queueing and connecting. Absent without streaming.",
    source: "Inferometer; after Tene, coordinated omission.",
    value: Value::Request(from_due),
    title: "TTFT from due",
    result_key: "ttft_from_due_ms",
    of_classes: true,
    judged: JudgedOn::on_streams(from_due, Pending::first_after_due_ms),
    bound: Some(ErrorBound { key: None, of: width_of_first }),
    exported: Some(1),
    ..Definition::DEFAULT
};

/// Milliseconds from the send to the first visible event; absent if there is none.
pub fn from_sent(timeline: &Timeline<'_>) -> Option<f64> {
    timeline.ms_to_first(EventKind::is_visible, Origin::Sent)
}

/// Milliseconds from the due time to the first visible event; absent if there is none.
pub fn from_due(timeline: &Timeline<'_>) -> Option<f64> {
    timeline.ms_to_first(EventKind::is_visible, Origin::Due)
}

fn width_of_first(timeline: &Timeline<'_>, margins: &mut Vec<ErrorMargin>) {
    let width_ms = timeline.width_of_first_ms(EventKind::is_visible);
    margins.extend(width_ms.map(ErrorMargin::below));
}
