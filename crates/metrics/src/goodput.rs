//! Goodput: requests that met every objective on requests. Never an objective on percentiles.

use super::{Definition, Direction, Unit, Value, Window, duration};

/// Goodput.
pub static DEFINITION: Definition = Definition {
    name: "goodput",
    formula: "completed requests that met every objective on requests / duration",
    unit: Unit::RequestsPerSecond,
    direction: Some(Direction::Higher),
    notes: "Each request is judged separately. Absent without --goodput.",
    source: "Inferometer; after Zhong et al., DistServe (OSDI 2024).",
    value: Value::Pass(requests_per_s),
    title: "Goodput",
    ..Definition::DEFAULT
};

/// Attainment.
pub static ATTAINMENT: Definition = Definition {
    name: "slo_attainment",
    formula: "completed requests that met every objective on requests / planned requests",
    unit: Unit::Share,
    notes: "Failed and dropped requests count as missed. Absent without --goodput.",
    value: Value::Pass(attainment),
    title: "SLO attainment",
    ..DEFINITION
};

/// Requests per second that met every objective.
pub fn requests_per_s(window: &Window) -> Option<f64> {
    Some(window.met? as f64 / duration::duration_s(window)?)
}

/// The share of planned requests that met every objective.
pub fn attainment(window: &Window) -> Option<f64> {
    let met = window.met?;
    (window.planned > 0).then(|| met as f64 / window.planned as f64)
}
