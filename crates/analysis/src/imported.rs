//! The source of results that this program did not measure, and what it states beyond our own
//! definitions. Never a verdict.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::table_import::TableForm;

/// The format of results that this program made itself, in another store.
pub const OURS: &str = "summary.json";

/// The source of imported results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Imported {
    /// The format of the source: `published table`, `vllm bench serve`, ...
    pub format: String,
    /// The name of its file, without a folder.
    pub file: String,
    /// SHA-256 of the file's bytes.
    pub sha256: String,
    /// The headings above the results, or the name of the results within the file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub section: Vec<String>,
    /// When it was measured, as the source states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_at: Option<String>,
    /// The tables of a page, as numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<TableForm>,
    /// What the source states of each pass, in the order of the summary's passes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passes: Vec<Stated>,
}

/// What a source states about a pass.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stated {
    /// Figures with our definition that the source states without their distribution, such as `ttft_p99`,
    /// in the unit of the metric.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agreeing: BTreeMap<String, f64>,
    /// All its numbers, by its own names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub numbers: BTreeMap<String, f64>,
    /// Its texts, by its own names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub words: BTreeMap<String, String>,
}

impl Imported {
    /// Whether this program made the results. Then it knows how they were measured, and has already
    /// judged them.
    pub fn is_ours(&self) -> bool {
        self.format == OURS
    }

    /// `file.md, Qwen-14B / A100 40G`: the source in a few words.
    pub fn place(&self) -> String {
        match self.section.as_slice() {
            [] => self.file.clone(),
            section => format!("{}, {}", self.file, section.join(" / ")),
        }
    }
}
