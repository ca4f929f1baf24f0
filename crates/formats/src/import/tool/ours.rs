//! Imports a `summary.json` of this program from another store.

pub(super) use inferometer_analysis::imported::OURS as FORMAT;
use inferometer_analysis::{Summary, summary::SUMMARY_SCHEMA};
use serde_json::Value;

use super::document::Document;
use crate::{import::error::ImportError, import::source::Import};

pub(super) fn is(document: &Value) -> bool {
    document.get("schema").and_then(Value::as_str) == Some(SUMMARY_SCHEMA)
}

pub(super) fn run(document: &Document<'_>) -> Result<Import, ImportError> {
    let mut summary: Summary = serde_json::from_value(document.value.clone())
        .map_err(|error| document.malformed(error.to_string()))?;
    let mut imported = document.source.imported(FORMAT);
    imported.section = vec![format!("run {}", summary.run_id)];
    imported.measured_at = Some(summary.started_at.clone());
    // If the other store imported this run, the summary already states the original source.
    summary.imported.get_or_insert(imported);
    Ok(Import { summary, records: Vec::new() })
}
