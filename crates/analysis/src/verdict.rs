//! Whether the run can be trusted, and whether its objectives were met.

use serde::{Deserialize, Serialize};

use crate::trust::FigureCounts;

/// The verdict of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Validity {
    /// Every figure of the main table and of the objectives is trusted or bounded.
    #[default]
    Valid,
    /// One of these figures is not; the reasons say which.
    Suspect,
}

/// One objective of the plan and whether it was met.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SloResult {
    /// The objective as it was written: `ttft_p99<500ms`.
    pub objective: String,
    /// The cell and pass on which it was judged.
    pub place: String,
    /// The measured value, in the objective's unit; absent if nothing could be measured.
    pub measured: Option<f64>,
    /// Whether it was met. If nothing was measured, it was not.
    pub met: bool,
    /// Why it is undecided because of the client's own error; absent if it is decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undecided: Option<String>,
    /// Why too few values cannot decide it; absent if there are enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub too_few: Option<String>,
}

impl SloResult {
    /// Notes on the result.
    pub fn notes(&self) -> impl Iterator<Item = &str> {
        self.undecided.iter().chain(&self.too_few).map(String::as_str)
    }
}

/// The verdict at the top of every report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The verdict of the run.
    pub validity: Validity,
    /// Why it is suspect, one sentence for each reason.
    pub reasons: Vec<String>,
    /// The numbers of trusted, bounded and unreliable figures; absent if no client was involved,
    /// and in results of a version without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figures: Option<FigureCounts>,
    /// What the user can do about figures that are not trusted; absent if all are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// The plan's objectives.
    pub slo: Vec<SloResult>,
}
