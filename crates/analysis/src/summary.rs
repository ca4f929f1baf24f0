//! The results of a run as a document: what `--json` prints and `summary.json` holds.
//!
//! These are types only; [`crate::fold`] computes them from records. The committed schema is
//! `schema/summary.schema.json`.

use std::collections::BTreeMap;

use inferometer_model::target::{Environment, Target, Tool};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::cell::Cell;

use crate::imported::Imported;
use crate::prediction::ErrorSummary;
use crate::ranks::RankSummary;
use crate::search::SearchAnswer;
use crate::sweep::SweepAnswer;
use crate::verdict::Verdict;
use inferometer_model::finding::Finding;

/// The name and version of the document.
pub const SUMMARY_SCHEMA: &str = "inferometer.summary/1";

/// The results of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// [`SUMMARY_SCHEMA`].
    pub schema: String,
    /// The program that made it.
    pub tool: Tool,
    /// The run's identity in the store.
    pub run_id: String,
    /// When the run began, RFC 3339, UTC.
    pub started_at: String,
    /// SHA-256 over the resolved plan.
    pub plan_hash: String,
    /// SHA-256 over the canonical requests; absent where they are not known.
    #[serde(with = "empty_or_hash")]
    pub workload_hash: Option<String>,
    /// SHA-256 over the request bodies that the dialect made; absent if not all were made.
    #[serde(with = "empty_or_hash")]
    pub body_hash: Option<String>,
    /// True if no server was measured: a model predicted every figure.
    pub predicted: bool,
    /// What was measured.
    pub target: Target,
    /// Where it was measured.
    pub environment: Environment,
    /// Whether the results can be trusted, and whether the objectives were met.
    pub verdict: Verdict,
    /// What a reader must know before using the figures.
    pub findings: Vec<Finding>,
    /// The grid.
    pub cells: Vec<Cell>,
    /// Where the results come from, if this program did not measure them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
    /// The answers of a search, cell by cell; empty without a search.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub searches: Vec<SearchAnswer>,
    /// The answers of a sweep, cell by cell; empty without a sweep.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sweeps: Vec<SweepAnswer>,
    /// The processes that measured the plan together; empty for a single process.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<RankSummary>,
    /// Absolute errors per column, in percent; only of a prediction that is compared with measured values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<BTreeMap<String, ErrorSummary>>,
}

/// A hash in a document; an absent one is an empty string. Version 0.1.0 wrote the reason instead, in
/// several words.
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
