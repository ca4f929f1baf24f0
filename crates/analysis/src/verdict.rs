//! The verdict as stored in results: whether the run is valid, and whether its objectives were met.

use serde::{Deserialize, Serialize};

use crate::trust::FigureCounts;

/// Whether a run is valid or suspect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Validity {
    /// No rule of [`crate::validity::judge`] is broken, and neither the run nor a pass ended early.
    #[default]
    Valid,
    /// At least one rule is broken, or the run or a pass ended early, or the results were imported. The reasons state
    /// which of these is the case. If the user's time limit cuts off a trial or a block, this is not a reason.
    Suspect,
}

/// Whether an objective of a run or a condition of a gate is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Met {
    /// It is met.
    Yes,
    /// It is missed.
    No,
    /// The data does not decide whether it is met.
    Undecided,
}

/// The result of one objective of the plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SloResult {
    /// The objective as the user wrote it, such as `ttft_p99<500ms`.
    pub objective: String,
    /// The cell and the pass on which it was judged.
    pub place: String,
    /// The measured value, in the unit of the objective; absent if it was not measured.
    pub measured: Option<f64>,
    /// The 95 % confidence interval of `measured`, in the unit of the objective. For a prediction, it is the range that
    /// is expected to contain 90 % of measurements. Absent if the figure has no interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
    /// Whether the measured value meets the limit; `false` if nothing was measured. [`SloResult::outcome`] also takes
    /// doubts into account.
    pub met: bool,
    /// Why the objective is undecided; absent if it is decided. One of these reasons:
    ///
    /// - The client's own error is too large.
    /// - The server may have had prompts in its cache.
    /// - The pass was ended early.
    /// - The figure was not measured.
    /// - The limit is in the range of a prediction, or the prediction states no calibrated range of the figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undecided: Option<String>,
    /// Why there are too few values to decide the objective; absent if there are enough values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub too_few: Option<String>,
}

impl SloResult {
    /// Whether the objective is met. It is undecided if [`SloResult::undecided`] or [`SloResult::too_few`]
    /// has a reason.
    pub fn outcome(&self) -> Met {
        match self.notes().next() {
            Some(_) => Met::Undecided,
            None if self.met => Met::Yes,
            None => Met::No,
        }
    }

    /// The reasons for doubt about the result, as text.
    pub fn notes(&self) -> impl Iterator<Item = &str> {
        self.undecided.iter().chain(&self.too_few).map(String::as_str)
    }
}

/// The verdict on a run. All reports show it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Whether the run is valid or suspect.
    pub validity: Validity,
    /// Why the run is suspect, one sentence for each reason; empty if it is valid.
    pub reasons: Vec<String>,
    /// The numbers of trusted, bounded, unreliable and absent figures. `None` for predictions and imported results, and
    /// in results of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figures: Option<FigureCounts>,
    /// Advice about figures that are not trusted. `None` if no figure is bounded or unreliable, and for predictions and
    /// imported results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// The results of the plan's objectives.
    pub slo: Vec<SloResult>,
}
