//! Duration of a pass. Rates of a whole pass are counts divided by this duration, never by the planned time.

use super::{CoveredRequests, Definition, PassData, Unit, Value};

/// The time from the first send of a request to the last end of a request in a pass.
pub static DEFINITION: Definition = Definition {
    name: "duration",
    formula: "last end - first send_start",
    unit: Unit::Seconds,
    direction: None,
    over: CoveredRequests::Sent,
    notes: "Over all sent requests, including failed ones. Absent if no request was sent, or if no \
        time passed.",
    source: "Inferometer; the total time T in tables of throughput that teams publish.",
    value: Value::Pass(duration_s),
    title: "Duration",
    result_key: "duration_s",
    ..Definition::DEFAULT
};

/// Seconds from the first send to the last end; absent if no request was sent, or if no time passed.
pub fn duration_s(data: &PassData) -> Option<f64> {
    let (first, last) = data.in_flight.first_send().zip(data.in_flight.last_end())?;
    Some(last.seconds_after(first)).filter(|&seconds| seconds > 0.0)
}
