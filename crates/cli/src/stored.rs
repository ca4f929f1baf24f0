//! What a stored run is: its plan, and its line of the list as a document.

use inferometer_plan::Plan;
use inferometer_store::{RunRow, StoredRun};
use serde_json::{Value, json};

/// The plan of a stored run is of another version of this program, and cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("run {run}: its plan is of another version of this program: {source}")]
pub struct OtherVersion {
    /// The run.
    pub run: String,
    /// What does not fit.
    pub source: serde_json::Error,
}

/// The plan that a stored run has measured.
///
/// # Errors
/// When it is of another version of this program, or the run was imported and has none.
pub fn plan_of(run: &StoredRun) -> Result<Plan, OtherVersion> {
    serde_json::from_str(&run.plan_json)
        .map_err(|source| OtherVersion { run: run.row.id.to_string(), source })
}

/// A run as documents have it.
pub fn row_json(run: &RunRow) -> Value {
    json!({
        "run_id": run.id,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "state": run.state.name(),
        "kind": run.kind.name(),
        "model": run.model,
        "engine": run.engine,
        "engine_version": run.engine_version,
        "card": run.card,
        "simulated": run.simulated,
        "predicted": run.predicted,
        "imported_from": run.imported_from,
        "missing": run.missing,
        "imported_section": run.imported_section,
        "validity": run.validity,
        "cells": run.cells,
        "input_lengths": run.grid.map(|grid| grid.input_lengths),
        "output_lengths": run.grid.map(|grid| grid.output_lengths),
        "most_requests_per_s": run.grid.and_then(|grid| grid.requests_per_s),
        "most_output_tokens_per_s": run.grid.and_then(|grid| grid.output_tokens_per_s),
        "load": run.loads.map(|loads| loads.to_string()),
        "ttft_p50_ms": run.loads.and_then(|loads| loads.ttft_p50_ms),
        "tpot_p50_ms": run.loads.and_then(|loads| loads.tpot_p50_ms),
        "tags": run.tags,
    })
}
