//! Can the run be trusted, and were its objectives met.

use serde::{Deserialize, Serialize};

use crate::trust::FigureCounts;

/// The verdict of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Validity {
    /// Every figure of the main table and of the objectives is trusted or bounded.
    #[default]
    Valid,
    /// It is not; the reasons say where.
    Suspect,
}

/// One objective of the plan and whether it was met.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SloResult {
    /// The objective as it was written: `ttft_p99<500ms`.
    pub objective: String,
    /// The cell and pass that it was judged on.
    pub place: String,
    /// What was measured, in the objective's unit; absent when nothing could be measured.
    pub measured: Option<f64>,
    /// Whether it was met. Nothing to measure is not met.
    pub met: bool,
    /// Why the client's own error leaves open whether it was met; absent where it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undecided: Option<String>,
    /// Why so few values cannot decide it; absent where they can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub too_few: Option<String>,
}

impl SloResult {
    /// What has to be said beside whether it was met.
    pub fn notes(&self) -> impl Iterator<Item = &str> {
        self.undecided.iter().chain(&self.too_few).map(String::as_str)
    }
}

/// The verdict that stands at the top of every report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The verdict of the run.
    pub validity: Validity,
    /// Why not, one sentence each.
    pub reasons: Vec<String>,
    /// The numbers of trusted, bounded and unreliable figures; absent if no client was involved,
    /// and in results of a version without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figures: Option<FigureCounts>,
    /// What can be done about figures that are not trusted; absent where all are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// The plan's objectives.
    pub slo: Vec<SloResult>,
}
