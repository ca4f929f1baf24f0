//! Planned requests per second.

use super::{CoveredRequests, Definition, Direction, JudgedOn, PassData, Unit, Value, duration};

/// Planned requests per second.
pub static DEFINITION: Definition = Definition {
    name: "planned_per_s",
    formula: "planned requests / duration",
    unit: Unit::RequestsPerSecond,
    direction: Some(Direction::Higher),
    over: CoveredRequests::Planned,
    notes: "Absent if the pass has no duration.",
    value: Value::Pass(planned_per_s),
    title: "Planned requests per second",
    result_key: "planned_requests_per_s",
    judged: JudgedOn::OnPasses,
    column: Some("Planned/s"),
    compared: true,
    ..Definition::DEFAULT
};

/// Planned requests per second; absent if the pass has no duration.
pub fn planned_per_s(data: &PassData) -> Option<f64> {
    Some(data.planned as f64 / duration::duration_s(data)?)
}
