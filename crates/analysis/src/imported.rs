//! Describes imported results: their source, and the figures that the source states. This module contains no verdict.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::table_import::TableForm;

/// The format of results that this program measured, and that were imported from another store.
pub const OURS: &str = "summary.json";

/// The source of imported results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Imported {
    /// The format of the source: `published table`, `vllm bench serve`, ...
    pub format: String,
    /// The name of the source file, without its folder.
    pub file: String,
    /// The SHA-256 of the file's bytes.
    pub sha256: String,
    /// The headings above the results, or the name of the results within the file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub section: Vec<String>,
    /// When the results were measured, in the words of the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_at: Option<String>,
    /// The forms of the tables of a published page, with their numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<TableForm>,
    /// The statements of the source about each pass, in the order of the summary's passes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passes: Vec<ImportedPass>,
}

/// The statements of a source about one pass.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ImportedPass {
    /// Figures that the source states without a distribution, such as `ttft_p99`, and defines as this program does.
    /// Each figure is in the unit of its metric.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agreeing: BTreeMap<String, f64>,
    /// All numbers of the source, under the names that the source uses.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub numbers: BTreeMap<String, f64>,
    /// All texts of the source, under the names that the source uses.
    #[serde(rename = "words", default, skip_serializing_if = "BTreeMap::is_empty")]
    pub texts: BTreeMap<String, String>,
}

impl Imported {
    /// Whether this program measured the results, on another machine or in another store. Such results already have a
    /// verdict.
    pub fn is_ours(&self) -> bool {
        self.format == OURS
    }

    /// The source in a few words, such as `file.md, Qwen-14B / A100 40G`.
    pub fn place(&self) -> String {
        match self.section.as_slice() {
            [] => self.file.clone(),
            section => format!("{}, {}", self.file, section.join(" / ")),
        }
    }
}
