//! The single pass of a run, in the formats that `vllm bench serve` prints and saves. This module neither prints
//! nor writes anything.

use inferometer_analysis::Summary;
use inferometer_formats::dialect::{Pass, ServingSelection, serving_table};
use inferometer_formats::export::vllm_bench;
use inferometer_model::{Nanos, Record, calendar, load::Due};
use inferometer_plan::Plan;
use inferometer_report::notice_of;
use inferometer_store::{LoggedPass, PassBegin, StoredRun};
use serde_json::{Map, Value, json};

use crate::stored_error::StoredRunError;

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
    /// A rate that changes from request to request.
    pub ramp: Option<ServingRamp>,
}

/// A rate in requests/s that changes from the first request to the last one.
#[derive(Clone, Copy, Debug)]
pub struct ServingRamp {
    /// Whether the rate changes by equal factors, and not by equal amounts.
    pub is_exponential: bool,
    /// The rate at the first request.
    pub from: f64,
    /// The rate at the last request.
    pub to: f64,
}

impl ServingRamp {
    /// The times at which the rate reached each whole number, as vLLM's result file lists them: the first rate at the
    /// begin of the pass, and each further one when the request was sent whose rate reached it.
    fn changes(self, records: &[Record], begin: Nanos, origin_unix_ns: i64) -> Value {
        let mut sent: Vec<(u32, Nanos)> =
            records.iter().filter_map(|record| Some((record.index, record.picked?))).collect();
        sent.sort_unstable();
        let last = sent.len().saturating_sub(1).max(1) as f64;
        let mut known = self.from as u64;
        let mut changes = vec![(known, begin)];
        for (index, (_, at)) in sent.into_iter().enumerate() {
            let progress = index as f64 / last;
            let rate = match self.is_exponential {
                true => self.from * (self.to / self.from).powf(progress),
                false => self.from + (self.to - self.from) * progress,
            };
            changes.extend((known + 1..=rate as u64).map(|rate| (rate, at)));
            known = known.max(rate as u64);
        }
        let event = |(rate, at): (u64, Nanos)| {
            let unix_ns = origin_unix_ns.saturating_add(i64::try_from(at.0).unwrap_or(i64::MAX));
            let time = calendar::rfc3339(unix_ns);
            json!({ "rps": rate, "timestamp": time.trim_end_matches('Z') })
        };
        changes.into_iter().map(event).collect()
    }
}

/// Inserts a field of a result file after another one, or at the end if there is no such field.
pub fn insert_after(fields: &mut Map<String, Value>, after: &str, name: &str, value: Value) {
    let at = fields.keys().position(|key| key == after).map_or(fields.len(), |at| at + 1);
    fields.shift_insert(at, name.to_owned(), value);
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
) -> Result<Option<ServingResult>, StoredRunError> {
    let mut logged = run.passes()?;
    let Some(pass) = logged.next() else { return Ok(None) };
    let LoggedPass { begin, records, .. } = pass?;
    if records.is_empty() {
        return Ok(None);
    }
    let began = began(&begin, plan.seed, &records);
    let selection = &ServingSelection { begin: began, ..serving_settings.selection.clone() };
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
    let mut file = made.map_err(StoredRunError::refused)?;
    file["max_concurrency"] = serving_settings.max_concurrency.into();
    if let (Some(ramp), Some(began), Some(fields)) =
        (serving_settings.ramp, began, file.as_object_mut())
    {
        let changes = ramp.changes(&records, began, run.origin_unix_ns);
        insert_after(fields, "rtfx", "rps_change_events", changes);
    }
    Ok(Some(ServingResult { table, file }))
}
