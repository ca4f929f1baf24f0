//! The one pass of a run as `vllm bench serve` shows and saves it. Nothing is printed or written.

use inferometer_analysis::summary::Summary;
use inferometer_formats::dialect::{Pass, ServingSelection, serving_table};
use inferometer_formats::export::{ExportError, vllm_bench};
use inferometer_load::Due;
use inferometer_model::record::Record;
use inferometer_model::time::Nanos;
use inferometer_plan::Plan;
use inferometer_report::notice_of;
use inferometer_store::{LoggedPass, PassBegin, StoredRun};
use serde_json::Value;

use crate::report::ReportError;

/// How a pass is seen.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// The figures that are shown.
    pub selection: &'a ServingSelection,
    /// The rate that was asked for in requests/s, where it is finite.
    pub rate: Option<f64>,
    /// The most in flight that was asked for.
    pub max_concurrency: Option<u32>,
    /// The shape of the arrivals that was asked for.
    pub burstiness: f64,
}

/// A pass as vLLM has it.
pub struct ServingResult {
    /// Its table.
    pub table: String,
    /// Its result file, with the lists of all requests.
    pub file: Value,
}

/// When a pass began: so long before its first request was due as its load says.
fn began(begin: &PassBegin, seed: u64, records: &[Record]) -> Option<Nanos> {
    let first = records.iter().map(|record| record.due).min()?;
    match begin.plan.load().start(begin.seed(seed)).next_due() {
        Due::At(offset) => Some(Nanos(first.0.saturating_sub(offset.0))),
        Due::AfterEnd | Due::Never => Some(first),
    }
}

/// The first pass of a run; none where nothing was recorded.
///
/// # Errors
/// When its log cannot be read.
pub fn serving_result(
    run: &StoredRun,
    summary: &Summary,
    plan: &Plan,
    seen: &Seen<'_>,
) -> Result<Option<ServingResult>, ReportError> {
    let mut logged = run.passes()?;
    let Some(pass) = logged.next() else { return Ok(None) };
    let LoggedPass { begin, records, .. } = pass?;
    if records.is_empty() {
        return Ok(None);
    }
    let selection =
        &ServingSelection { begin: began(&begin, plan.seed, &records), ..seen.selection.clone() };
    let pass = Pass {
        records: &records,
        dialect: &run.target.dialect,
        concurrency: seen.max_concurrency,
        rate: seen.rate,
        duration_s: None,
    };
    let notice = notice_of(&run.target, run.row.predicted, None);
    let notice = notice.map_or_else(String::new, |notice| format!("{notice}\n"));
    let table = notice + &serving_table(&pass, selection).text();
    let number = begin.pass as usize;
    let made = vllm_bench(summary, number, &records, seen.burstiness, selection);
    let mut file = made.map_err(|error: ExportError| ReportError::Missing(error.to_string()))?;
    file["max_concurrency"] = seen.max_concurrency.into();
    Ok(Some(ServingResult { table, file }))
}
