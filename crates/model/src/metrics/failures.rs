//! Failures: the share of planned requests that did not complete.

use super::{CoveredRequests, Definition, JudgedOn, PassData, Unit, Value};

/// The share of planned requests that did not complete.
pub static DEFINITION: Definition = Definition {
    name: "failures",
    formula: "100 x (planned requests - completed requests) / planned requests",
    unit: Unit::Percent,
    over: CoveredRequests::Planned,
    notes: "Counts requests with every outcome except complete. Requests that --abandon ended are not counted.",
    value: Value::Pass(failures_pct),
    title: "Failures",
    result_key: "failures_pct",
    judged: JudgedOn::OnPasses,
    ..Definition::DEFAULT
};

/// The share of planned requests that did not complete, in percent; absent if no request was planned.
pub fn failures_pct(data: &PassData) -> Option<f64> {
    let failed = data.planned.saturating_sub(data.completed) as f64;
    (data.planned > 0).then(|| 100.0 * failed / data.planned as f64)
}
