//! Creates the report of a stored run again from its records. Also creates the tables that other tools would have
//! printed for the same records. Nothing is measured.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use inferometer_analysis::Summary;
use inferometer_formats::dialect::{Tool, ToolTable};
use inferometer_model::{CellPlan, cell::trial_or_repeat_suffix};
use inferometer_plan::{Plan, spec::PriceKeys};
use inferometer_predict::write_tables;
use inferometer_report::{PlotFiles, Traces, notice_of};
use inferometer_run::{FromLog, Outputs, summarise_log};
use inferometer_store::{LoggedPass, RunId, StoreError, StoredRun};
use serde_json::Value;

use crate::stored_passes::{dialect_pass, expect_streams};
use crate::{price, stored::plan_of, stored_error::StoredRunError};

/// The data of a report, computed again from a stored run.
pub struct Report {
    /// The results.
    pub summary: Summary,
    /// The id of the run.
    pub run: RunId,
    /// The plan; None for imported results.
    pub plan: Option<Plan>,
    /// The data for charts of single requests.
    pub traces: Traces,
    /// The error at which reading a truncated log ended; None if the log is complete, or if the results were imported.
    pub cut: Option<StoreError>,
}

impl Report {
    /// Computes the results of a stored run again from its log. Imported results are not computed again, but used as
    /// stored.
    ///
    /// # Errors
    /// If the log or the plan of the run cannot be read.
    pub fn of(stored: &StoredRun) -> Result<Self, StoredRunError> {
        Self::with(stored, false, &PriceKeys::default())
    }

    /// Like [`Self::of`], with additions that the plan of the run did not request: with `failures_as_inf`, percentiles in
    /// which each failed request counts as infinity; with a price, costs. The keys of `price` that are absent are those of
    /// the run.
    ///
    /// # Errors
    /// In the same cases as [`Self::of`], if the run was imported and `failures_as_inf` is requested, or if the price has
    /// a mistake.
    pub fn with(
        stored: &StoredRun,
        failures_as_inf: bool,
        price: &PriceKeys,
    ) -> Result<Self, StoredRunError> {
        let run = stored.row.id.clone();
        let keys = |plan: Option<&Plan>| match *price == PriceKeys::default() {
            true => Ok(plan.map(|plan| plan.spec.price.clone()).unwrap_or_default()),
            false => price::of_run(price, plan),
        };
        if let Some(summary) = stored.summary.as_ref().filter(|done| done.imported.is_some()) {
            if failures_as_inf {
                return Err(StoredRunError::Refused(format!(
                    "--failures-as-inf: run {run} was imported, and the figures of an imported \
                        run are not computed again"
                )));
            }
            let mut summary = summary.clone();
            summary.set_price(&keys(None)?, None);
            return Ok(Self { summary, run, plan: None, traces: Traces::default(), cut: None });
        }
        let mut plan = plan_of(stored)?;
        if failures_as_inf {
            plan.spec.failures_as_inf = Some(true);
        }
        plan.spec.price = keys(Some(&plan))?;
        let FromLog { summary, traces, cut, .. } = summarise_log(stored, &plan)?;
        Ok(Self { summary, run, plan: Some(plan), traces, cut })
    }

    /// Whether the results are a prediction with intervals. [`Self::write`] then also writes the tables of the
    /// prediction.
    pub fn has_intervals(&self) -> bool {
        self.summary.cells.iter().any(|cell| cell.prediction.interval.is_some())
    }

    /// Writes the files of the report to the folder `out`, or to the default folder of the run. Returns the folder.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(&self, out: Option<&Path>, plots: PlotFiles) -> Result<PathBuf, StoredRunError> {
        let outputs = Outputs::prepare(out)?;
        let folder = match &self.plan {
            Some(plan) => outputs.write_all(&self.summary, plan, &self.run, &self.traces, plots)?,
            None => outputs.write_imported(&self.summary, &self.run, plots)?,
        };
        if self.has_intervals() {
            write_tables(&folder, &self.summary)?;
        }
        Ok(folder)
    }
}

/// The output that another tool would have printed for a run.
pub struct OtherTool {
    /// The tables as text.
    pub text: String,
    /// The same figures as a JSON document.
    pub document: Value,
}

/// Computes the output that another tool would have printed for the same records, by the definitions of that tool. For a
/// run from a result file of this tool, these are the figures that the file states. `warn` receives an error if the log
/// is truncated.
///
/// # Errors
/// If the run is a prediction, has no streams or no records, or if its log cannot be read.
pub fn by_other_tool(
    run: &StoredRun,
    tool: Tool,
    warn: impl Fn(&StoreError),
) -> Result<OtherTool, StoredRunError> {
    let mut tables = Tables::of(run);
    if let Some(summary) = &run.summary
        && let Some(imported) = &summary.imported
    {
        let passes = summary.passes().zip(&imported.passes);
        for (number, ((cell, pass), stated)) in (0..).zip(passes) {
            if let Some(table) = tool.printed_again(&imported.format, stated) {
                tables.add(number, cell.plan(), pass.load.clone(), pass.repeat, &table);
            }
        }
    }
    if tables.passes.is_empty() {
        expect_streams(run)?;
        let mut logged = run.passes()?;
        for pass in &mut logged {
            let LoggedPass { begin, records, .. } = pass?;
            let table = tool.printed(&dialect_pass(run, &begin, &records));
            tables.add(begin.pass, begin.cell, begin.plan.to_string(), begin.repeat, &table);
        }
        logged.cut.iter().for_each(warn);
    }
    if tables.passes.is_empty() {
        return Err(StoredRunError::Refused(format!(
            "run {} has no request records, which the tables of other tools need",
            run.row.id
        )));
    }
    let document = serde_json::json!({
        "run_id": run.row.id,
        "dialect": tool.name,
        "simulated": run.target.simulated,
        "predicted": run.row.predicted,
        "imported_from": run.row.imported_from,
        "passes": tables.passes,
    });
    Ok(OtherTool { text: tables.text, document })
}

/// The tables of the passes of a run.
struct Tables<'a> {
    run: &'a StoredRun,
    notice: String,
    has_trials: bool,
    text: String,
    passes: Vec<Value>,
}

impl<'a> Tables<'a> {
    fn of(run: &'a StoredRun) -> Self {
        let summary = run.summary.as_ref();
        let imported = summary.and_then(|summary| summary.imported.as_ref());
        let notice = notice_of(&run.target, run.row.predicted, imported)
            .map_or_else(String::new, |notice| format!("{notice}\n"));
        let has_trials = summary
            .is_some_and(|summary| !summary.searches.is_empty() || !summary.sweeps.is_empty());
        Self { run, notice, has_trials, text: String::new(), passes: Vec::new() }
    }

    fn add(&mut self, pass: u32, cell: CellPlan, load: String, repeat: u32, table: &ToolTable) {
        let nth = trial_or_repeat_suffix(self.has_trials, repeat);
        let place = format!("{}: {cell}, {load}{nth}", self.run.row.id);
        let _ = writeln!(self.text, "{place}\n{}{}", self.notice, table.text());
        self.passes.push(serde_json::json!({
            "pass": pass,
            "input_length": cell.input_length,
            "output_length": cell.output_length,
            "load": load,
            "repeat": repeat,
            "figures": table.json(),
            "left_out": table.left_out,
        }));
    }
}
