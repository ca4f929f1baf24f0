//! Time from the first token to the last.

use super::{Definition, JudgedOn, OnRequests, Statistic, Timeline, Value};

/// Decode time.
pub static DEFINITION: Definition = Definition {
    name: "decode_time",
    formula: "E2E - TTFT",
    notes: "Absent without a token.",
    value: Value::Request(decode_time_ms),
    title: "Decode time",
    result_key: "decode_time_ms",
    of_classes: true,
    judged: JudgedOn::OnRequests(OnRequests {
        value: decode_time_ms,
        at_least: |_| 0.0,
        needs_stream: true,
    }),
    in_tables: &[Statistic::P50],
    exported: Some(90),
    ..Definition::DEFAULT
};

/// Milliseconds from the first token to the last.
pub fn decode_time_ms(timeline: &Timeline<'_>) -> Option<f64> {
    let (first, last) = (timeline.events.first()?, timeline.events.last()?);
    Some(last.arrival.ms_after(first.arrival))
}
