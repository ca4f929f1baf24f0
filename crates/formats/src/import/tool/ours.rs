//! Imports a `summary.json` of this program from another store.

use inferometer_analysis::Summary;
pub(super) use inferometer_analysis::imported::OURS as FORMAT;
use inferometer_analysis::summary::SUMMARY_SCHEMA;
use serde_json::Value;

use crate::import::error::ImportError;
use crate::import::source::{Import, Source};

pub(super) fn is(document: &Value) -> bool {
    document.get("schema").and_then(Value::as_str) == Some(SUMMARY_SCHEMA)
}

pub(super) fn runs(source: &Source, documents: &[Value]) -> Result<Vec<Import>, ImportError> {
    documents.iter().map(|document| run(source, document)).collect()
}

fn run(source: &Source, document: &Value) -> Result<Import, ImportError> {
    let mut summary: Summary =
        serde_json::from_value(document.clone()).map_err(|error| ImportError::Malformed {
            file: source.file.clone(),
            format: FORMAT,
            what: error.to_string(),
        })?;
    let mut imported = source.imported(FORMAT);
    imported.section = vec![format!("run {}", summary.run_id)];
    imported.measured_at = Some(summary.started_at.clone());
    // If the other store imported this run, the summary already states the original source.
    summary.imported.get_or_insert(imported);
    Ok(Import { summary, records: Vec::new() })
}
