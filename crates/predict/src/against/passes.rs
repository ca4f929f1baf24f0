//! Reads the passes of a stored run or of a result file, so that they can be simulated with the same rates, limits,
//! lengths and arrivals. It simulates nothing.

use inferometer_analysis::{Summary, prediction::Columns, table_import::PublishedRow};
use inferometer_engine::EngineConfig;
use inferometer_formats::import::Import;
use inferometer_model::{CellPlan, PassKind, Target};
use inferometer_store::StoredRun;

use super::{MeasuredRows, measured_on::of_target};
use crate::{MeasuredPass, Unpredictable, measured_passes, passes_of};

impl MeasuredRows {
    /// The measured passes of a stored run or of a result file in a cell.
    pub fn passes_of(&self, cell: CellPlan) -> impl Iterator<Item = &MeasuredPass> {
        self.passes.iter().filter(move |pass| pass.cell == cell)
    }
}

/// Whether the figures of a run are like those of published pages: fixed lengths with the passes "one by one" and
/// "saturated", or passes over text blocks, such as those of an imported log. Without text blocks, false for results
/// of another tool with numbers for each pass, because each of these passes has its own load.
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
) -> Result<MeasuredRows, Unpredictable> {
    let what = if summary.predicted { " (a prediction: nothing was measured)" } else { "" };
    let origin = format!("run {}{what}, each pass with its own load", found.row.id);
    let passes = measured_passes(found, config)?;
    Ok(rows_of(origin, passes, &summary.target, summary.imported.is_none()))
}

/// Returns the passes of a result file as measured rows, each pass with its own load.
///
/// # Errors
/// If the passes cannot be simulated.
pub(super) fn of_results(
    path: &str,
    imports: &[Import],
    config: &EngineConfig,
) -> Result<MeasuredRows, Unpredictable> {
    let mut passes = Vec::new();
    for Import { summary, records } in imports {
        let loads = records.iter().map(|pass| (pass.plan.clone(), pass.records.clone()));
        passes.extend(passes_of(summary, loads.collect(), config)?);
    }
    let first = imports.first().ok_or(Unpredictable::NoResults)?;
    let origin = format!("{path}, each pass with its own load");
    Ok(rows_of(origin, passes, &first.summary.target, false))
}

/// The cells of passes as rows without figures, and the passes.
pub(super) fn rows_of(
    origin: String,
    passes: Vec<MeasuredPass>,
    target: &Target,
    is_own_run: bool,
) -> MeasuredRows {
    let mut cells: Vec<CellPlan> = passes.iter().map(|pass| pass.cell).collect();
    cells.dedup();
    let row = |cell| PublishedRow { cell, measured: Columns::default() };
    MeasuredRows {
        origin,
        rows: cells.into_iter().map(row).collect(),
        passes,
        is_own_run,
        model: Some(target.model.clone()).filter(|model| model != "unknown"),
        measured_on: of_target(target),
        ..MeasuredRows::default()
    }
}
