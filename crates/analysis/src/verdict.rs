//! Can the run be trusted, and were its objectives met.

use serde::{Deserialize, Serialize};

/// Whether the instrument vouches for the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Validity {
    /// The client's own error is small beside every figure.
    #[default]
    Valid,
    /// It is not; the reasons say where.
    Suspect,
}

/// One objective of the plan and whether it was met.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SloResult {
    /// The objective as it was written: `ttft_p99<500ms`.
    pub objective: String,
    /// The cell and pass that it was judged on.
    pub place: String,
    /// What was measured, in the objective's unit; absent when there was nothing to measure.
    pub measured: Option<f64>,
    /// Whether it was met. Nothing to measure is not met.
    pub met: bool,
}

/// The verdict that stands at the top of every report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Whether the instrument vouches for the run.
    pub validity: Validity,
    /// Why not, one sentence each.
    pub reasons: Vec<String>,
    /// The plan's objectives.
    pub slo: Vec<SloResult>,
}
