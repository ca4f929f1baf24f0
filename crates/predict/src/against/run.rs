//! Reads the measured rows of a stored run, which may be imported from another tool. This module compares
//! nothing.

use inferometer_analysis::{Imported, PassSummary, Summary, table_import::PublishedRow};
use inferometer_engine::{EngineConfig, text_blocks::ClosedLoopLoad};
use inferometer_model::{CellPlan, PassKind, Severity, code};
use inferometer_store::StoredRun;

use super::passes::{is_of_published_passes, of_passes};
use super::{Counts, MeasuredRows, measured_on::of_target};
use crate::Unpredictable;

/// The rows of a stored run.
///
/// # Errors
/// If a prediction cannot be compared with the run.
pub(super) fn of_run(
    found: &StoredRun,
    config: &EngineConfig,
) -> Result<MeasuredRows, Unpredictable> {
    let summary = found.summary.as_ref().ok_or(Unpredictable::NoResults)?;
    if !is_of_published_passes(summary) {
        return of_passes(found, summary, config);
    }
    if let Some(imported) = &summary.imported {
        return of_import(&found.row.id.to_string(), summary, imported);
    }
    let counts = counts(summary)?;
    let rows = summary.cells.iter().map(|cell| PublishedRow {
        cell: CellPlan { input_length: cell.input_length, output_length: cell.output_length },
        measured: cell.columns(),
    });
    let what = if summary.predicted { " (a prediction: nothing was measured)" } else { "" };
    let origin = format!("run {}{what}", found.row.id);
    let model = Some(summary.target.model.clone());
    Ok(MeasuredRows {
        origin,
        rows: rows.collect(),
        counts: Some(counts),
        is_own_run: true,
        model,
        measured_on: of_target(&summary.target),
        ..MeasuredRows::default()
    })
}

/// The rows of imported results. For an imported log, also the loads that the log states.
fn of_import(
    id: &str,
    summary: &Summary,
    imported: &Imported,
) -> Result<MeasuredRows, Unpredictable> {
    let origin = format!("run {id}, imported from {}", imported.place());
    if summary.findings.iter().any(|finding| {
        finding.is(code::IMPORTED_CHARACTERS_NOT_TOKENS) && finding.severity == Severity::Warning
    }) {
        return Err(Unpredictable::Characters);
    }
    let rows = summary
        .cells
        .iter()
        .map(|cell| PublishedRow { cell: cell.plan(), measured: cell.columns() });
    let of_blocks = |pass: &PassSummary| {
        let figures = pass.blocks.as_ref()?;
        let completed = u32::try_from(figures.completed).ok()?;
        Some(ClosedLoopLoad {
            prompt: (figures.prompt_tokens? as f64 / f64::from(completed)).round() as u32,
            mean_output: figures.completion_tokens_per_request()?,
            in_flight: figures.concurrency?,
            completed,
        })
    };
    let passes = summary.cells.iter().flat_map(|cell| &cell.passes);
    let blocks: Vec<ClosedLoopLoad> = passes.filter_map(of_blocks).collect();
    if !blocks.is_empty() && blocks.len() != summary.cells.len() {
        return Err(Unpredictable::RowsWithoutLoad);
    }
    let model = Some(summary.target.model.clone()).filter(|model| model != "unknown");
    let measured_on = of_target(&summary.target);
    let rows = rows.collect();
    Ok(MeasuredRows { origin, rows, blocks, model, measured_on, ..MeasuredRows::default() })
}

/// Returns the planned numbers of requests of the one-by-one passes and of the saturated passes of a run.
///
/// # Errors
/// If the figures of the run cannot be compared with a prediction.
fn counts(summary: &Summary) -> Result<Counts, Unpredictable> {
    if let Some(speed) = summary.target.facts.other_speed() {
        return Err(Unpredictable::OtherSpeed(speed));
    }
    let of_kind = |kind: PassKind| {
        let passes = summary.cells.iter().flat_map(|cell| &cell.passes);
        let mut planned: Vec<u64> =
            passes.filter(|pass| pass.kind == kind).map(|pass| pass.planned).collect();
        planned.dedup();
        planned
    };
    let all = summary.cells.iter().flat_map(|cell| &cell.passes);
    let others = all.filter(|pass| !matches!(pass.kind, PassKind::OneByOne | PassKind::Saturated));
    match (others.count(), of_kind(PassKind::Saturated).as_slice()) {
        (0, [saturated]) => Ok(Counts {
            one_by_one: of_kind(PassKind::OneByOne).first().map(|count| *count as u32),
            saturated: *saturated as u32,
            predicted: summary.predicted,
        }),
        _ => Err(Unpredictable::OtherPasses),
    }
}
