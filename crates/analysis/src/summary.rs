//! The results of a run as a JSON document: the output of `--json`, and the content of `summary.json`.
//!
//! These are types only; [`crate::fold`] computes them from records. The committed schema is
//! `schema/summary.schema.json`.

use std::collections::BTreeMap;

use inferometer_model::{Environment, Finding, Target, target::Tool};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::cost::Bill;
use crate::prediction::ErrorSummary;
use crate::ranks::RankSummary;
use crate::verdict::Verdict;
use crate::{Cell, Imported, PassSummary, SearchAnswer, SweepAnswer};

/// The name and version of the document.
pub const SUMMARY_SCHEMA: &str = "inferometer.summary/1";

/// The results of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The name and version of the document: [`SUMMARY_SCHEMA`].
    pub schema: String,
    /// The program that wrote the document.
    pub tool: Tool,
    /// The identifier of the run in the store.
    pub run_id: String,
    /// When the run began, in UTC, as RFC 3339.
    pub started_at: String,
    /// SHA-256 of the resolved plan.
    pub plan_hash: String,
    /// SHA-256 of the canonical requests; absent if they are not known.
    #[serde(with = "empty_or_hash")]
    pub workload_hash: Option<String>,
    /// SHA-256 of the request bodies that the dialect wrote; absent if not all of them were written.
    #[serde(with = "empty_or_hash")]
    pub body_hash: Option<String>,
    /// Whether every figure is a prediction, and no server was measured.
    pub predicted: bool,
    /// The server under test, or the embedded engine.
    pub target: Target,
    /// The environment in which the program ran.
    pub environment: Environment,
    /// Whether the results are valid, and whether the objectives were met.
    pub verdict: Verdict,
    /// Problems that a reader must know before using the figures.
    pub findings: Vec<Finding>,
    /// The cells of the grid, with their figures.
    pub cells: Vec<Cell>,
    /// The price of the results; absent if the user gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Bill>,
    /// The source of the results, if they were imported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
    /// The answers of a search: one for each tier of each cell; empty without a search.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub searches: Vec<SearchAnswer>,
    /// The answer of a sweep in each cell; empty without a sweep.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sweeps: Vec<SweepAnswer>,
    /// The processes that measured the plan together; empty for a single process.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<RankSummary>,
    /// Absolute errors of each column in percent; only for a prediction that is compared with measured values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<BTreeMap<String, ErrorSummary>>,
}

/// Writes a hash, where an absent hash is an empty string. Version 0.1.0 wrote the reason instead, as several words.
mod empty_or_hash {
    use super::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(hash: &Option<String>, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(hash.as_deref().unwrap_or_default())
    }

    pub fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Option<String>, D::Error> {
        let text = String::deserialize(from)?;
        Ok(Some(text).filter(|text| !text.is_empty() && !text.contains(' ')))
    }
}

impl Summary {
    /// Whether every figure is a prediction of the engine model without random variation.
    pub fn is_predicted_without_noise(&self) -> bool {
        self.predicted && self.target.facts.noise.is_none()
    }

    /// All passes, each with its cell.
    pub fn passes(&self) -> impl Iterator<Item = (&Cell, &PassSummary)> + Clone {
        self.cells.iter().flat_map(|cell| cell.passes.iter().map(move |pass| (cell, pass)))
    }
}
