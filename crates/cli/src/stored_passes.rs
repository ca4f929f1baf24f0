//! Checks that a stored run has the records that an export needs, and converts its passes for the formats of other
//! tools.

use inferometer_analysis::{PassSummary, Summary};
use inferometer_formats::dialect::Pass;
use inferometer_model::{OpenPlan, PassPlan, Record};
use inferometer_store::{PassBegin, PassItem, StoredRun};

use crate::stored_error::StoredRunError;

/// Returns an error for a run without records, because most exports need records.
///
/// # Errors
/// If there is no record, or the log cannot be read.
pub fn expect_records(run: &StoredRun) -> Result<(), StoredRunError> {
    let mut passes = run.passes()?;
    while let Some(pass) = passes.next_pass() {
        for item in pass? {
            if let PassItem::Record(_) = item? {
                return Ok(());
            }
        }
    }
    Err(StoredRunError::Refused(format!(
        "run {} has no request records, which this export needs",
        run.row.id
    )))
}

/// Returns an error for a run whose records do not state when each chunk arrived. The figures of other tools need
/// measured arrivals.
///
/// # Errors
/// If the run is predicted, or its answers were not streamed.
pub fn expect_streams(run: &StoredRun) -> Result<(), StoredRunError> {
    let id = &run.row.id;
    if run.row.predicted {
        return Err(StoredRunError::Refused(format!(
            "run {id} is a prediction without single chunks, which the tables of other tools need"
        )));
    }
    if !run.streamed() {
        return Err(StoredRunError::Refused(format!(
            "run {id} was measured without streaming, but TTFT, TPOT and ITL of other tools need \
                streams; measure it without --no-stream"
        )));
    }
    Ok(())
}

/// A pass in the form that the formats of other tools need. For an imported run, the duration is the value that the
/// source states.
pub fn dialect_pass<'a>(run: &'a StoredRun, begin: &PassBegin, records: &'a [Record]) -> Pass<'a> {
    let stated = run.summary.as_ref().filter(|done| done.imported.is_some());
    let of_pass = stated.and_then(|summary| nth(summary, begin.pass as usize));
    Pass {
        records,
        dialect: &run.target.dialect,
        concurrency: match begin.plan {
            // In other tools, requests are sent one by one if the limit of requests in flight is 1.
            PassPlan::OneByOne(_) => Some(1),
            _ => begin.plan.concurrency(),
        },
        rate: begin.plan.rate().filter(|rate| rate.is_finite()),
        duration_s: of_pass.and_then(|pass| pass.duration_s),
    }
}

/// The pass with this number; the passes of all cells are numbered from 0.
fn nth(summary: &Summary, number: usize) -> Option<&PassSummary> {
    summary.cells.iter().flat_map(|cell| &cell.passes).nth(number)
}

/// The shape parameter of the gaps between arrivals, which vLLM calls burstiness. Infinity for constant gaps; 1 for
/// loads without an arrival rate.
pub fn burstiness(plan: &PassPlan) -> f64 {
    match plan {
        PassPlan::Open(OpenPlan { arrivals, .. }) => arrivals.burstiness(),
        _ => 1.0,
    }
}
