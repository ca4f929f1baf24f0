//! Reads the passes of a stored run, so that they can be simulated with the same rates, limits, lengths and arrivals.
//! It simulates nothing.

use inferometer_analysis::prediction::Columns;
use inferometer_analysis::summary::Summary;
use inferometer_analysis::table_import::PublishedRow;
use inferometer_engine::EngineConfig;
use inferometer_formats::import::Import;
use inferometer_load::PassKind;
use inferometer_model::cell::CellPlan;
use inferometer_model::target::Target;
use inferometer_store::StoredRun;

use super::MeasuredRows;
use super::measured_on::of_target;
use crate::measured_runs::{MeasuredPass, measured_passes, passes_of};

impl MeasuredRows {
    /// The measured passes of a stored run in a cell.
    pub fn passes_of(&self, cell: CellPlan) -> impl Iterator<Item = &MeasuredPass> {
        self.passes.iter().filter(move |pass| pass.cell == cell)
    }
}

/// Whether the figures of a run are like those of published tables: fixed lengths with the passes "one by one" and
/// "saturated", or an imported log. False for imported results of another tool, because each of their passes has its
/// own load.
pub(super) fn is_of_published_passes(summary: &Summary) -> bool {
    let passes = || summary.cells.iter().flat_map(|cell| &cell.passes);
    let has_lengths =
        summary.cells.iter().all(|cell| cell.input_length > 0 && cell.output_length > 0);
    let of_kinds =
        passes().all(|pass| matches!(pass.kind, PassKind::OneByOne | PassKind::Saturated));
    let of_tool = summary.imported.as_ref().is_some_and(|imported| !imported.passes.is_empty())
        && passes().all(|pass| pass.serving_run.is_none());
    passes().any(|pass| pass.blocks.is_some()) || has_lengths && of_kinds && !of_tool
}

/// Returns the passes of a run as measured rows, each pass with its own load.
///
/// # Errors
/// If the passes cannot be simulated.
pub(super) fn of_passes(
    found: &StoredRun,
    summary: &Summary,
    config: &EngineConfig,
) -> Result<MeasuredRows, String> {
    let what = if summary.predicted { " (a prediction: nothing was measured)" } else { "" };
    let origin = format!("run {}{what}, each pass with its own load", found.row.id);
    Ok(rows_of(origin, measured_passes(found, config)?, &summary.target))
}

/// Returns the passes of a result file as measured rows, each pass with its own load.
///
/// # Errors
/// If the passes cannot be simulated.
pub(super) fn of_results(
    path: &str,
    imports: &[Import],
    config: &EngineConfig,
) -> Result<MeasuredRows, String> {
    let mut passes = Vec::new();
    for Import { summary, records } in imports {
        let loads = records.iter().map(|pass| (pass.plan.clone(), pass.records.clone()));
        passes.extend(passes_of(summary, loads.collect(), config)?);
    }
    let first = imports.first().ok_or("it has no results")?;
    let origin = format!("{path}, each pass with its own load");
    Ok(rows_of(origin, passes, &first.summary.target))
}

fn rows_of(origin: String, passes: Vec<MeasuredPass>, target: &Target) -> MeasuredRows {
    let mut cells: Vec<CellPlan> = passes.iter().map(|pass| pass.cell).collect();
    cells.dedup();
    let row = |cell| PublishedRow { cell, measured: Columns::default() };
    MeasuredRows {
        origin,
        rows: cells.into_iter().map(row).collect(),
        blocks: Vec::new(),
        passes,
        counts: None,
        model: Some(target.model.clone()).filter(|model| model != "unknown"),
        measured_on: of_target(target),
    }
}
