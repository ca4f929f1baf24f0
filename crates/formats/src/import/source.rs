//! The source of an import, and an imported run in the form that the store accepts.

use inferometer_analysis::verdict::{Validity, Verdict};
use inferometer_analysis::{Cell, Imported, Summary, summary::SUMMARY_SCHEMA};
use inferometer_model::{Finding, PassPlan, Record, Target, sha256::sha256_hex, target::Tool};

use crate::import::error::ImportError;

/// The file that is imported.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// The file's name without its folder.
    pub file: String,
    /// SHA-256 of the file's bytes, in hexadecimal digits.
    pub sha256: String,
}

/// One run of a file: its results, and the records of its requests if the file contains them.
#[derive(Clone, Debug, PartialEq)]
pub struct Import {
    /// The results. The importer sets the run id, the start and the program version.
    pub summary: Summary,
    /// The load and the records of each pass of the summary; the records of a pass may be empty. The list itself
    /// is empty for formats that never contain requests, such as published tables.
    pub records: Vec<PassRecords>,
}

/// The load and the records of one pass.
#[derive(Clone, Debug, PartialEq)]
pub struct PassRecords {
    /// The load model, as far as the file states it.
    pub plan: PassPlan,
    /// The records, in the order of their indices. Empty if the file does not contain requests, or does not
    /// state when they were sent.
    pub records: Vec<Record>,
}

impl Source {
    pub(crate) fn new(file: &str, bytes: &[u8]) -> Self {
        Self { file: file.to_owned(), sha256: sha256_hex(bytes) }
    }

    /// Returns the error for a part of this file that does not conform to its format.
    pub(crate) fn malformed(&self, format: &'static str, what: String) -> ImportError {
        ImportError::Malformed { file: self.file.clone(), format, what }
    }

    /// Returns the description of this file as the source of results.
    pub(crate) fn imported(&self, format: &str) -> Imported {
        Imported {
            format: format.to_owned(),
            file: self.file.clone(),
            sha256: self.sha256.clone(),
            ..Imported::default()
        }
    }
}

/// Returns the summary of a run that this program did not measure.
pub(crate) fn summary(
    imported: Imported,
    target: Target,
    cells: Vec<Cell>,
    findings: Vec<Finding>,
) -> Summary {
    let reason = format!(
        "imported from {} ({}): this program did not measure the figures, and the error of the \
            measuring client is unknown",
        imported.file, imported.format
    );
    Summary {
        schema: SUMMARY_SCHEMA.to_owned(),
        tool: Tool { name: "inferometer".to_owned(), version: String::new() },
        target,
        verdict: Verdict {
            validity: Validity::Suspect,
            reasons: vec![reason],
            ..Verdict::default()
        },
        findings,
        cells,
        imported: Some(imported),
        ..Summary::default()
    }
}
