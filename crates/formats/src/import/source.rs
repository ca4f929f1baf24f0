//! The source of an import, and a run as it goes into the store.

use inferometer_analysis::cell::Cell;
use inferometer_analysis::imported::Imported;
use inferometer_analysis::summary::{SUMMARY_SCHEMA, Summary};
use inferometer_analysis::verdict::{Validity, Verdict};
use inferometer_load::PassPlan;
use inferometer_model::finding::Finding;
use inferometer_model::record::Record;
use inferometer_model::request::sha256_hex;
use inferometer_model::target::{Environment, Target, Tool};

use crate::import::error::ImportError;

/// The file that is imported.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// Its name, without a folder.
    pub file: String,
    /// SHA-256 of its bytes.
    pub sha256: String,
}

/// One run of a file: its results, and the records of its requests where the file has them.
#[derive(Clone, Debug, PartialEq)]
pub struct Import {
    /// The results. The importer sets the run id, the start and the program version.
    pub summary: Summary,
    /// The load of each pass of the summary with its records, of which there may be none; empty where the
    /// file states no load.
    pub records: Vec<PassRecords>,
}

/// The requests of one pass.
#[derive(Clone, Debug, PartialEq)]
pub struct PassRecords {
    /// The load model, as far as the file states it.
    pub plan: PassPlan,
    /// The records, in the order of their indices; none where the file does not have them, or not their
    /// instants.
    pub records: Vec<Record>,
}

impl Source {
    pub(crate) fn new(file: &str, bytes: &[u8]) -> Self {
        Self { file: file.to_owned(), sha256: sha256_hex(bytes) }
    }

    /// The error of a part of this file that does not conform to its format.
    pub(crate) fn malformed(&self, format: &'static str, what: String) -> ImportError {
        ImportError::Malformed { file: self.file.clone(), format, what }
    }

    /// The origin of the results of this file.
    pub(crate) fn imported(&self, format: &str) -> Imported {
        Imported {
            format: format.to_owned(),
            file: self.file.clone(),
            sha256: self.sha256.clone(),
            ..Imported::default()
        }
    }
}

/// The summary of a run that this program did not measure.
pub(crate) fn summary(
    imported: Imported,
    target: Target,
    cells: Vec<Cell>,
    findings: Vec<Finding>,
) -> Summary {
    let reason = format!(
        "imported from {} ({}): this program did not measure it, and the error of the measuring \
            client is unknown",
        imported.file, imported.format
    );
    Summary {
        schema: SUMMARY_SCHEMA.to_owned(),
        tool: Tool { name: "inferometer".to_owned(), version: String::new() },
        run_id: String::new(),
        started_at: String::new(),
        plan_hash: String::new(),
        workload_hash: None,
        body_hash: None,
        predicted: false,
        target,
        environment: Environment::default(),
        verdict: Verdict {
            validity: Validity::Suspect,
            reasons: vec![reason],
            ..Verdict::default()
        },
        findings,
        cells,
        imported: Some(imported),
        searches: Vec::new(),
        sweeps: Vec::new(),
        ranks: Vec::new(),
        errors: None,
    }
}
