//! The results of a run as a document: what `--json` prints and `summary.json` holds.
//!
//! These are types only; [`crate::fold`] computes them from records. The committed schema is
//! `schema/summary.schema.json`.

use std::collections::BTreeMap;

use inferometer_model::target::{Environment, Target, Tool};
use serde::{Deserialize, Serialize};

use crate::cell::Cell;

use crate::imported::Imported;
use crate::prediction::ErrorSummary;
use crate::search::SearchAnswer;
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
    /// SHA-256 over the canonical requests.
    pub workload_hash: String,
    /// SHA-256 over the bytes that the dialect made of them.
    pub body_hash: String,
    /// True when no server was measured: every figure is a model's.
    pub predicted: bool,
    /// What was measured.
    pub target: Target,
    /// Where it was measured.
    pub environment: Environment,
    /// Can it be trusted, and were the objectives met.
    pub verdict: Verdict,
    /// What a reader must know before using the figures.
    pub findings: Vec<Finding>,
    /// The grid.
    pub cells: Vec<Cell>,
    /// Where the results come from, if this program did not measure them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
    /// What a search found out, cell by cell; nothing where none was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub searches: Vec<SearchAnswer>,
    /// Absolute errors per column, of a prediction that is compared with what was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<BTreeMap<String, ErrorSummary>>,
}
