//! Goodput: requests that met every objective on requests. Objectives on statistics of a pass do not count here.

use super::{CoveredRequests, Definition, Direction, JudgedOn, PassData, Unit, Value, duration};

/// Goodput: requests per second that met every objective on requests.
pub static DEFINITION: Definition = Definition {
    name: "goodput",
    formula: "completed requests that met every objective on requests / duration",
    unit: Unit::RequestsPerSecond,
    direction: Some(Direction::Higher),
    notes: "Each request is judged separately. Absent without --goodput.",
    source: "Inferometer; after Zhong et al., DistServe (OSDI 2024).",
    value: Value::Pass(requests_per_s),
    title: "Goodput",
    result_key: "goodput_requests_per_s",
    judged: JudgedOn::OnPasses,
    compared: true,
    ..Definition::DEFAULT
};

/// Attainment: the share of planned requests that met every objective on requests.
pub static ATTAINMENT: Definition = Definition {
    name: "slo_attainment",
    formula: "completed requests that met every objective on requests / planned requests",
    unit: Unit::Share,
    over: CoveredRequests::Planned,
    notes: "Failed and dropped requests count as missed; requests that --abandon ended are not counted. Absent without --goodput.",
    value: Value::Pass(attainment),
    title: "SLO attainment",
    result_key: "slo_attainment",
    compared: false,
    ..DEFINITION
};

/// Requests per second that met every objective; absent if there are no objectives on requests, or if the pass has
/// no duration.
pub fn requests_per_s(data: &PassData) -> Option<f64> {
    Some(data.met? as f64 / duration::duration_s(data)?)
}

/// The share of planned requests, 0 to 1, that met every objective; absent if there are no objectives on
/// requests.
pub fn attainment(data: &PassData) -> Option<f64> {
    let met = data.met?;
    (data.planned > 0).then(|| met as f64 / data.planned as f64)
}
