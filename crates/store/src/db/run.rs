//! The values that the database stores about a run.

use std::path::PathBuf;

use inferometer_analysis::Summary;
use inferometer_model::digits::{count, with_unit};
use inferometer_model::{Environment, Target};
use inferometer_plan::Plan;

use super::run_id::RunId;
use crate::{LogReader, Passes, StoreError};

/// The facts that are known at the start of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunHeader {
    /// The wall time at which the run began, in nanoseconds since the Unix epoch.
    pub started_unix_ns: i64,
    /// A random number that distinguishes runs of the same second.
    pub suffix: u16,
    /// The wall time at the origin of the run's clock, in nanoseconds since the Unix epoch.
    pub origin_unix_ns: i64,
    /// The plan of the run. A plan contains no API key and no header value.
    pub plan: Plan,
    /// The server under test, with the properties that are known at the start.
    pub target: Target,
    /// The environment of the measurement.
    pub environment: Environment,
    /// True if the figures are predicted and no server is measured.
    pub predicted: bool,
    /// Version of the program.
    pub tool_version: String,
}

/// The facts that are known at the start of an import.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportHeader {
    /// The wall time of the import, in nanoseconds since the Unix epoch; also the origin of the clock of
    /// its records.
    pub imported_unix_ns: i64,
    /// A random number that distinguishes imports of the same second.
    pub suffix: u16,
    /// The measured server, with the properties that the source states.
    pub target: Target,
    /// Version of this program.
    pub tool_version: String,
}

/// The state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunState {
    /// The run is in progress.
    Running,
    /// The process of the run ended without recording the end; the recorded requests remain stored. This
    /// state itself is never stored: the database contains `running`, and the missing lock on the log shows
    /// that the process has ended.
    Killed,
    /// The run reached its end, and every cell of the plan has results. Some requests may have failed.
    Complete,
    /// The run was interrupted before its end; the recorded requests remain stored.
    Interrupted,
    /// The run could not be completed, or a cell of the plan has no complete results; the recorded requests
    /// remain stored.
    Failed,
}

inferometer_model::names!(RunState {
    Running => "running", Killed => "killed", Complete => "complete",
    Interrupted => "interrupted", Failed => "failed",
});

/// The origin of a run's figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunKind {
    /// This program measured a server, which may have been the embedded engine.
    Measured,
    /// A model predicted the figures; no server was measured.
    Predicted,
    /// The figures come from a file: a result of another program, a published table, or a summary of this
    /// program.
    Imported,
}

inferometer_model::names!(RunKind {
    Measured => "measured", Predicted => "predicted", Imported => "imported",
});

/// One line of the list of runs.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRow {
    /// The id of the run.
    pub id: RunId,
    /// When the run began: RFC 3339, UTC.
    pub started_at: String,
    /// When the run ended: RFC 3339, UTC; absent if it was not recorded.
    pub finished_at: Option<String>,
    /// The state of the run.
    pub state: RunState,
    /// The origin of the figures.
    pub kind: RunKind,
    /// The engine, such as `vllm`; absent if it is unknown.
    pub engine: Option<String>,
    /// The version of the engine; absent if it is unknown.
    pub engine_version: Option<String>,
    /// The model.
    pub model: String,
    /// The card, if the server or the user named it.
    pub card: Option<String>,
    /// True for the embedded engine.
    pub simulated: bool,
    /// True if the figures are predicted and no server was measured.
    pub predicted: bool,
    /// The file from which the run was imported; absent if the run was not imported.
    pub imported_from: Option<String>,
    /// The section of the imported file: the headings above the section, or its name in the file. Empty for a
    /// file without sections, and if the run was not imported.
    pub imported_section: Vec<String>,
    /// `valid` or `suspect`; absent if the run has no results.
    pub validity: Option<String>,
    /// The number of cells with results.
    pub cells: u32,
    /// The lengths of the cells and the highest throughputs; absent if the run has no cells.
    pub grid: Option<GridRow>,
    /// The loads of the passes and their median latencies; absent if the run has no passes.
    pub loads: Option<LoadsRow>,
    /// The number of cells that were not measured, as text; absent if all cells were measured.
    pub missing: Option<String>,
    /// The numbers of failed requests and of planned requests; absent if none failed. Requests that the user
    /// or the plan cancelled or skipped have not failed.
    pub failed: Option<[u64; 2]>,
    /// The tags of the run, sorted.
    pub tags: Vec<String>,
}

impl RunRow {
    /// The name of the engine in lists and filters.
    pub fn engine_name(&self) -> &str {
        self.engine.as_deref().unwrap_or("unknown engine")
    }

    /// How many requests failed, such as `52 of 60 requests failed`; absent if none did.
    pub fn failures(&self) -> Option<String> {
        self.failed
            .map(|of| of.map(count))
            .map(|[failed, all]| format!("{failed} of {all} requests failed"))
    }
}

/// The cells of a run on one line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GridRow {
    /// The shortest and the longest input, in tokens.
    pub input_lengths: [u32; 2],
    /// The shortest and the longest output, in tokens.
    pub output_lengths: [u32; 2],
    /// The highest throughput of any cell, in requests per second; absent if no cell has this figure.
    pub requests_per_s: Option<f64>,
    /// The highest throughput of any cell, in output tokens per second; absent if no cell has this figure.
    /// The highest `requests_per_s` may come from another cell.
    pub output_tokens_per_s: Option<f64>,
}

/// Shows the lengths, such as `128..512 x 32`. Lengths of 0 are shown as `varied`: the requests of these
/// cells differ in their lengths.
impl std::fmt::Display for GridRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let span = |[from, to]: [u32; 2]| match (from, to) {
            (0, 0) => "varied".to_owned(),
            _ if from == to => from.to_string(),
            _ => format!("{from}..{to}"),
        };
        write!(f, "{} x {}", span(self.input_lengths), span(self.output_lengths))
    }
}

/// The passes of a run on one line: the smallest and the largest of each value. A value is absent if no pass
/// has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadsRow {
    /// Whether a pass sent all its requests at the same time.
    pub all_at_once: bool,
    /// The number of requests in flight in closed-loop passes; 1 for one-by-one passes.
    pub in_flight: Option<[u32; 2]>,
    /// The arrival rate, in requests per second.
    pub rate: Option<[f64; 2]>,
    /// The medians of the time to first token, in milliseconds.
    pub ttft_p50_ms: Option<[f64; 2]>,
    /// The medians of the time per output token, in milliseconds.
    pub tpot_p50_ms: Option<[f64; 2]>,
}

/// The text of a rate, with at most four decimal places.
fn rate_text(rate: f64) -> String {
    let text = format!("{rate:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Shows the loads, such as `1 in flight, all at once` or `2..8 requests/s`. Loads that change within a pass
/// are not shown.
impl std::fmt::Display for LoadsRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let span = |least: String, most: String, unit: &str| match least == most {
            true => with_unit(&least, unit),
            false => format!("{least}..{most} {unit}"),
        };
        let in_flight = self
            .in_flight
            .map(|[least, most]| span(least.to_string(), most.to_string(), "in flight"));
        let rate =
            self.rate.map(|[least, most]| span(rate_text(least), rate_text(most), "requests/s"));
        let all = self.all_at_once.then(|| "all at once".to_owned());
        let parts: Vec<String> = [in_flight, rate, all].into_iter().flatten().collect();
        f.write_str(&parts.join(", "))
    }
}

/// A run with its documents.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredRun {
    /// Its row in the list.
    pub row: RunRow,
    /// The wall time at which the run began, in nanoseconds since the Unix epoch.
    pub started_unix_ns: i64,
    /// The wall time at which the run ended, in nanoseconds since the Unix epoch; absent if it was not
    /// recorded.
    pub finished_unix_ns: Option<i64>,
    /// The wall time at the origin of the run's clock, in nanoseconds since the Unix epoch.
    pub origin_unix_ns: i64,
    /// Version of the program that made the run.
    pub tool_version: String,
    /// The hash of the plan.
    pub plan_hash: String,
    /// The resolved plan as JSON, as it was stored. Another version of this program may have written
    /// it.
    pub plan_json: String,
    /// The server under test, with the properties that were known when the run was last written.
    pub target: Target,
    /// The environment of the measurement.
    pub environment: Environment,
    /// The results; absent if the run has none (yet).
    pub summary: Option<Summary>,
    /// The path of the run's log.
    pub log: PathBuf,
}

impl StoredRun {
    /// Opens the log of the run, to read its passes.
    ///
    /// # Errors
    /// As [`LogReader::open`].
    pub fn passes(&self) -> Result<Passes, StoreError> {
        self.reader().map(Passes::from)
    }

    /// Opens the log of the run, to read its entries. The log may still grow.
    ///
    /// # Errors
    /// As [`LogReader::open`].
    pub fn reader(&self) -> Result<LogReader, StoreError> {
        Ok(LogReader::open(&self.log)?.streamed(self.streamed()))
    }

    /// Whether answers were streamed, according to the stored plan. True if the plan does not contain this
    /// setting, for example because another version of this program wrote the plan.
    pub fn streamed(&self) -> bool {
        streamed(&self.plan_json)
    }
}

/// Whether answers are streamed, according to a plan as JSON. True if the plan does not contain this setting.
pub(super) fn streamed(plan_json: &str) -> bool {
    let plan: serde_json::Value = serde_json::from_str(plan_json).unwrap_or_default();
    plan["sampling"]["stream"].as_bool().unwrap_or(true)
}
