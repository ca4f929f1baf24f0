//! Compares results with a baseline.

use std::path::PathBuf;

use inferometer::compare::with_result;
use inferometer::compare::{Met, Options, compare as compare_results, conditions, subject};
use inferometer_plan::spec::PriceKeys;
use inferometer_report::{difference, gate_summary};
use pyo3::prelude::*;
use serde_json::json;

use crate::errors::Error;

/// Compares a result with a baseline. Both have names in the form that `inferometer compare` accepts.
/// `margin` is a share. Returns a JSON document, and the comparison as text, as Markdown and as HTML.
#[pyfunction]
#[pyo3(signature = (baseline, contender, store, margin, gate, seed))]
pub fn compare(
    py: Python<'_>,
    baseline: &str,
    contender: &str,
    store: PathBuf,
    margin: f64,
    gate: Option<&str>,
    seed: u64,
) -> PyResult<(String, String, String, String)> {
    if !(margin > 0.0 && margin < 1.0) {
        let why = format!("margin: {margin} is not a share above 0 and below 1, such as 0.05");
        return Err(Error::Plan(vec![why]).into());
    }
    let compared = py.detach(|| {
        let conditions = conditions(gate)?;
        let subject = |name| subject(name, &store, &PriceKeys::default());
        let (baseline, contender) = (subject(baseline)?, subject(contender)?);
        let judged = compare_results(&baseline, &contender, Options { margin, seed }, &conditions)?;
        let all = std::slice::from_ref(&judged);
        let document = json!({
            "comparison": judged,
            "missed": with_result(all, Met::No),
            "undecided": with_result(all, Met::Undecided),
        });
        let (comparison, gate) = (&judged.comparison, &judged.gate);
        Ok::<_, Error>((
            document.to_string(),
            difference::text(comparison, gate),
            gate_summary::markdown(&[(comparison, gate.as_slice())], None),
            difference::html(comparison),
        ))
    });
    Ok(compared?)
}
