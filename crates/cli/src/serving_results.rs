//! The single pass of a run, in the formats that `vllm bench serve` prints and saves. This module neither prints
//! nor writes anything.

use inferometer_analysis::Summary;
use inferometer_formats::dialect::{Pass, ServingSelection, serving_table};
use inferometer_formats::export::{ExportError, vllm_bench};
use inferometer_model::load::Due;
use inferometer_model::{Nanos, Record};
use inferometer_plan::Plan;
use inferometer_report::notice_of;
use inferometer_store::{LoggedPass, PassBegin, StoredRun};
use serde_json::Value;

use crate::report::ReportError;

/// The settings of the table and of the result file.
#[derive(Clone, Copy, Debug)]
pub struct ServingSettings<'a> {
    /// The figures that are shown.
    pub selection: &'a ServingSelection,
    /// The requested rate in requests/s, if it is finite.
    pub rate: Option<f64>,
    /// The requested maximum number of requests in flight.
    pub max_concurrency: Option<u32>,
    /// The requested shape parameter of the gamma distribution of the gaps between arrivals; 1 is Poisson.
    pub burstiness: f64,
}

/// A pass in vLLM's formats.
pub struct ServingResult {
    /// The printed table.
    pub table: String,
    /// The result file, with the lists of all requests.
    pub file: Value,
}

/// The instant at which a pass began. If the load has a schedule, this is the earliest due time of a request minus
/// the planned time from the beginning of the pass to its first request. If the load has no schedule, this is the
/// earliest due time.
fn began(begin: &PassBegin, seed: u64, records: &[Record]) -> Option<Nanos> {
    let first = records.iter().map(|record| record.due).min()?;
    match begin.plan.first_due(begin.seed(seed)) {
        Due::At(offset) => Some(Nanos(first.0.saturating_sub(offset.0))),
        Due::AfterEnd | Due::Never => Some(first),
    }
}

/// Returns the table and the result file of the first pass; `None` if no request was recorded.
///
/// # Errors
/// If the log cannot be read, or if the pass cannot be converted to vLLM's format.
pub fn serving_result(
    run: &StoredRun,
    summary: &Summary,
    plan: &Plan,
    serving_settings: &ServingSettings<'_>,
) -> Result<Option<ServingResult>, ReportError> {
    let mut logged = run.passes()?;
    let Some(pass) = logged.next() else { return Ok(None) };
    let LoggedPass { begin, records, .. } = pass?;
    if records.is_empty() {
        return Ok(None);
    }
    let selection = &ServingSelection {
        begin: began(&begin, plan.seed, &records),
        ..serving_settings.selection.clone()
    };
    let pass = Pass {
        records: &records,
        dialect: &run.target.dialect,
        concurrency: serving_settings.max_concurrency,
        rate: serving_settings.rate,
        duration_s: None,
    };
    let notice = notice_of(&run.target, run.row.predicted, None);
    let notice = notice.map_or_else(String::new, |notice| format!("{notice}\n"));
    let table = notice + &serving_table(&pass, selection).text();
    let number = begin.pass as usize;
    let made = vllm_bench(summary, number, &records, serving_settings.burstiness, selection);
    let mut file = made.map_err(|error: ExportError| ReportError::Missing(error.to_string()))?;
    file["max_concurrency"] = serving_settings.max_concurrency.into();
    Ok(Some(ServingResult { table, file }))
}
