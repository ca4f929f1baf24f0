//! The passes of a stored run with all of their records, one pass at a time.

use inferometer_analysis::pass::PassSummary;
use inferometer_analysis::summary::Summary;
use inferometer_formats::dialect::Pass;
use inferometer_load::PassPlan;
use inferometer_load::arrival::Arrivals;
use inferometer_model::record::Record;
use inferometer_store::{PassBegin, PassItem, StoreError, StoredRun};

/// Why the passes of a stored run cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum PassesError {
    /// The run does not have what is asked for.
    #[error("{0}")]
    Missing(String),
    /// Its log cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Refuses a run without a single record: of what other programs read there would be nothing.
///
/// # Errors
/// When there is none, or the log cannot be read.
pub fn expect_records(run: &StoredRun) -> Result<(), PassesError> {
    let mut passes = run.passes()?;
    while let Some(pass) = passes.next_pass() {
        for item in pass? {
            if let PassItem::Record(_) = item? {
                return Ok(());
            }
        }
    }
    Err(PassesError::Missing(format!(
        "run {} has no request records, so there are no rows of requests",
        run.row.id
    )))
}

/// Refuses a run whose records do not say when each chunk came: other tools' figures would be
/// computed from arrivals that nobody saw.
///
/// # Errors
/// When the run is predicted, or its answers were not streamed.
pub fn expect_streams(run: &StoredRun) -> Result<(), PassesError> {
    let id = &run.row.id;
    if run.row.predicted {
        return Err(PassesError::Missing(format!(
            "run {id} is a prediction without single chunks, which the tables of other tools need"
        )));
    }
    if !run.streamed() {
        return Err(PassesError::Missing(format!(
            "run {id} was measured without streaming, but TTFT, TPOT and ITL of other tools need \
                streams; measure it without --no-stream"
        )));
    }
    Ok(())
}

/// A pass as other tools see it. Of what another tool measured, the time is the one it states.
pub fn seen<'a>(run: &'a StoredRun, begin: &PassBegin, records: &'a [Record]) -> Pass<'a> {
    let load = begin.plan.load();
    let stated = run.summary.as_ref().filter(|done| done.imported.is_some());
    let of_pass = stated.and_then(|summary| nth(summary, begin.pass as usize));
    Pass {
        records,
        dialect: &run.target.dialect,
        concurrency: match begin.plan {
            // Other tools do it by a limit of one.
            PassPlan::OneByOne { .. } => Some(1),
            _ => load.concurrency(),
        },
        rate: load.rate().filter(|rate| rate.is_finite()),
        duration_s: of_pass.and_then(|pass| pass.duration_s),
    }
}

/// A pass of a summary by its number through all cells.
fn nth(summary: &Summary, number: usize) -> Option<&PassSummary> {
    summary.cells.iter().flat_map(|cell| &cell.passes).nth(number)
}

/// How arrivals are spread, as vLLM calls it.
pub fn burstiness(plan: &PassPlan) -> f64 {
    match plan {
        PassPlan::Open { arrivals: Arrivals::Constant, .. } => f64::INFINITY,
        PassPlan::Open { arrivals: Arrivals::Gamma { shape }, .. } => *shape,
        _ => 1.0,
    }
}
