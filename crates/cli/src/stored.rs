//! Stored runs: their plans, their rows as JSON documents, and the runs that a name refers to.

use std::collections::{BTreeMap, BTreeSet};

use inferometer_plan::Plan;
use inferometer_run::resume::GROUP;
use inferometer_store::{RunRow, Store, StoredRun};
use serde_json::{Value, json};

use crate::stored_error::StoredRunError;

/// Parses the plan of a stored run.
///
/// # Errors
/// If an incompatible version of this program wrote the plan, or if the run was imported and has no plan.
pub fn plan_of(run: &StoredRun) -> Result<Plan, StoredRunError> {
    Plan::from_json(&run.plan_json)
        .map_err(|source| StoredRunError::OtherVersion { run: run.row.id.to_string(), source })
}

/// The row of a run as a JSON object.
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
        "failed": run.failed.map(|[failed, _]| failed),
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

/// The runs that a name refers to, in the order in which they began, or in the order of rounds. The name is a run or a
/// tag, a list of these separated by commas, or all rounds of one server of a plan (`group-0a1b2c3d/SERVER`).
///
/// # Errors
/// If the name refers to no run, or contains a run twice.
pub fn runs_named(name: &str, store: &Store) -> Result<Vec<StoredRun>, StoredRunError> {
    if let Some((group, server)) = group_and_server(name) {
        return rounds(name, group, server, store);
    }
    let names = name.split(',').map(str::trim).filter(|name| !name.is_empty());
    let mut runs = Vec::new();
    for name in names {
        // The runs with the same tag are repeats.
        for id in store.find_all(name)? {
            runs.push(store.run(id.as_str())?);
        }
    }
    runs.sort_by(|one, other| one.row.id.cmp(&other.row.id));
    if let Some(twice) = runs.windows(2).find(|pair| pair[0].row.id == pair[1].row.id) {
        let twice = &twice[0].row.id;
        return Err(StoredRunError::Refused(format!(
            "{name}: contains {twice} twice; give each run once"
        )));
    }
    match runs.is_empty() {
        true => Err(StoredRunError::Refused(format!("{name:?} is not a run"))),
        false => Ok(runs),
    }
}

/// Splits a name such as `group-0a1b2c3d/SERVER` into group and server.
pub fn group_and_server(name: &str) -> Option<(&str, &str)> {
    name.split_once('/').filter(|(group, _)| group.starts_with(GROUP))
}

/// The runs of one server of a group, in the order of rounds. If a round has several runs with results, the latest one
/// is returned.
///
/// # Errors
/// If the store has no such run with results, or cannot be read.
pub fn rounds(
    name: &str,
    group: &str,
    server: &str,
    store: &Store,
) -> Result<Vec<StoredRun>, StoredRunError> {
    let (mut found, mut servers) = (BTreeMap::new(), BTreeSet::new());
    for row in store.runs()? {
        // Skip runs that cannot be read, because they have no figures. The command `runs` reports them.
        let Ok(run) = store.run(row.id.as_str()) else { continue };
        let origin = &run.target.facts.origin;
        if origin.group.as_deref() == Some(group) && run.summary.is_some() {
            let (variant, round) = (origin.variant.clone().unwrap_or_default(), origin.round);
            if variant == server {
                found.insert(round, run);
            }
            servers.insert(variant);
        }
    }
    if found.is_empty() {
        let servers: Vec<String> = servers.into_iter().collect();
        return Err(StoredRunError::Refused(match servers.is_empty() {
            true => format!("{name}: there is no run of {group} with results"),
            false => {
                format!("{name}: {group} has no server `{server}`; it has {}", servers.join("; "))
            }
        }));
    }
    Ok(found.into_values().collect())
}
