//! Send delay: the client's own part of a latency, without the server's part.

use super::{CoveredRequests, Definition, JudgedOn, Live, Origin, Timeline, Value};
use crate::stats::buckets::INSTRUMENT_S;

/// Send delay: how late a request was sent.
pub static DEFINITION: Definition = Definition {
    name: "send_delay",
    formula: "send_start - due",
    origin: Some(Origin::Due),
    over: CoveredRequests::Sent,
    notes: "The time spent waiting for a free slot, for a connection and for the client itself. \
        Over all sent requests, including failed ones.",
    value: Value::Request(send_delay_ms),
    title: "Send delay",
    result_key: "send_delay_ms",
    judged: JudgedOn::on_requests(send_delay_ms, |request| {
        request.sent.unwrap_or(request.at).ms_after(request.due)
    }),
    exported: Some(5),
    live: Some(Live {
        place: 4,
        family: "send_delay_seconds",
        help: "How late requests were sent, over all sent requests.",
        bounds_s: &INSTRUMENT_S,
        watched: &[],
    }),
    ..Definition::DEFAULT
};

/// Milliseconds from the due time to the send; absent if the request was not sent.
pub fn send_delay_ms(timeline: &Timeline<'_>) -> Option<f64> {
    Some(timeline.record.send_start?.ms_after(timeline.record.due))
}
