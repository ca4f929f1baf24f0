//! E2E: end-to-end latency. A late usage event never makes it longer.

use super::{
    Definition, ErrorBound, ErrorMargin, JudgedOn, Live, Origin, Statistic, Timeline, Value,
};
use crate::{Nanos, stats::buckets::REQUEST_S};

/// E2E from the send. The published tables call this metric latency.
pub static FROM_SENT: Definition = Definition {
    name: "e2e",
    formula: "last token event - send_start; finish reason - send_start, if usage counts tokens after the last \
        token event; without streaming: ended - send_start",
    origin: Some(Origin::Sent),
    notes: "Excludes a late usage event. Absent if a stream had no token.",
    version: 2,
    source: "Inferometer; the `latency` of the published tables.",
    value: Value::Request(from_sent),
    title: "E2E",
    result_key: "e2e_ms",
    of_classes: true,
    judged: JudgedOn::on_requests(from_sent, |request| {
        request.sent.map_or(0.0, |sent| request.at.ms_after(sent))
    }),
    in_tables: &[Statistic::P50, Statistic::P99],
    bound: Some(ErrorBound { key: Some("e2e_bound_us"), of: margin }),
    exported: Some(3),
    live: Some(Live {
        place: 3,
        family: "e2e_request_latency_seconds",
        help: "From the send to the last token, of completed requests.",
        bounds_s: &REQUEST_S,
        watched: &[Statistic::P50],
    }),
    ..Definition::DEFAULT
};

/// E2E from the due time, including the client's own delays.
pub static FROM_DUE: Definition = Definition {
    name: "e2e_from_due",
    formula: "last token event - due; finish reason - due, if usage counts tokens after the last token event; \
        without streaming: ended - due",
    origin: Some(Origin::Due),
    notes: "Includes the client's own queueing and connecting.",
    version: 2,
    source: "Inferometer; after Tene, coordinated omission.",
    value: Value::Request(from_due),
    title: "E2E from due",
    result_key: "e2e_from_due_ms",
    of_classes: true,
    judged: JudgedOn::on_requests(from_due, |request| request.at.ms_after(request.due)),
    bound: Some(ErrorBound { key: None, of: margin }),
    exported: Some(4),
    ..Definition::DEFAULT
};

/// Milliseconds from the send to the end of the answer; without streaming, to the end of the body.
pub fn from_sent(timeline: &Timeline<'_>) -> Option<f64> {
    e2e_ms(timeline, Origin::Sent)
}

/// Milliseconds from the due time to the end of the answer; without streaming, to the end of the body.
pub fn from_due(timeline: &Timeline<'_>) -> Option<f64> {
    e2e_ms(timeline, Origin::Due)
}

fn e2e_ms(timeline: &Timeline<'_>, origin: Origin) -> Option<f64> {
    let record = timeline.record;
    let end = if record.streamed { end_of_stream(timeline) } else { record.ended };
    Some(end?.ms_after(timeline.origin(origin)?))
}

/// The end of a streamed answer: its last token event, or the finish reason if tokens lie after this event.
pub(super) fn end_of_stream(timeline: &Timeline<'_>) -> Option<Nanos> {
    let last = timeline.events.last().map(|event| event.arrival);
    timeline.hidden.end.map(|(end, _)| end).or(last)
}

fn margin(timeline: &Timeline<'_>, margins: &mut Vec<ErrorMargin>) {
    margins.extend(width_of_last(timeline).map(ErrorMargin::below));
}

/// By how much E2E may be shorter than measured, in milliseconds.
pub(crate) fn width_of_last(timeline: &Timeline<'_>) -> Option<f64> {
    match timeline.record.streamed {
        true => timeline
            .hidden
            .end
            .map(|(_, width)| width)
            .or(timeline.events.last().map(|event| event.width_ms)),
        false => timeline.record.ended.map(|_| timeline.end_width_ms),
    }
}
