//! The answer of a search as stored in results.

use serde::{Deserialize, Serialize};

use super::evidence::{Claim, CriterionEstimate};
use super::outcome::SearchEnding;
use super::overwhelmed::Overwhelmed;
use super::trial::Saturation;
use crate::ModelRange;
use inferometer_model::CellPlan;
use inferometer_plan::search::Over;

/// The answer of a search for one cell, and for one tier of objectives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchAnswer {
    /// Input length of the cell in tokens.
    pub input_length: u32,
    /// Output length of the cell in tokens.
    pub output_length: u32,
    /// The load that was varied. If it is of jobs, what is called requests here are jobs.
    pub over: Over,
    /// The name of the tier of objectives; absent if the search has no tiers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<String>,
    /// The answer in one sentence; empty in results of earlier versions.
    #[serde(default)]
    pub answer: String,
    /// The objectives that must be met.
    pub objectives: Vec<SearchObjective>,
    /// The probability, from 0 to 1, that the interval contains the edge: the highest load that meets the objectives.
    pub confidence: f64,
    /// The requested width of the interval, as a share of its lower end.
    pub precision: f64,
    /// How the search ended.
    pub outcome: SearchEnding,
    /// The best estimate of the highest load that meets the objectives. If no tried load misses them, the estimate is
    /// the highest tried load that meets them. Absent if no tried load meets them.
    #[serde(default)]
    pub estimate: Option<f64>,
    /// Whether no tried load missed the objectives. The true value may then be higher than the estimate.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_one_sided: bool,
    /// The lower end of the interval of the estimate; absent if no trial bounds it.
    pub low: Option<f64>,
    /// The upper end of the interval of the estimate; absent if no trial bounds it.
    pub high: Option<f64>,
    /// A copy of `estimate`, under the name that earlier versions used.
    pub guess: Option<f64>,
    /// The range of a prediction that includes the error of the engine's model; absent for measured answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelRange>,
    /// The objective that is missed first as the load grows; empty if no objective is missed.
    pub limited_by: Vec<String>,
    /// Whether the queue kept growing at the lowest load that misses the objectives.
    pub saturated: bool,
    /// Whether the trials at one load show that it meets the objectives, although the trials at a lower load show that
    /// this lower load misses them.
    pub contradicts: bool,
    /// Whether requests that were alone on the server show that no load meets the objectives.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_missed_alone: bool,
    /// Whether the client, not the server, may have been the limit at the lowest load that misses the objectives.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_limited_by_client: bool,
    /// Why the server refused every request: the HTTP status and the server's error. Absent if the server did not
    /// refuse every request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// The number of requests of all trials.
    pub requests: u64,
    /// The number of trials.
    pub trials: u32,
    /// The duration of all trials together, in seconds.
    #[serde(default)]
    pub time_s: f64,
    /// The figures at each load, in ascending order.
    pub loads: Vec<LoadAnswer>,
}

/// An objective that must be met.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchObjective {
    /// The objective as the user wrote it.
    pub text: String,
    /// The share of requests that must meet it; absent for an objective on a mean.
    pub share: Option<f64>,
    /// The limit of a mean in milliseconds; absent for other objectives.
    pub mean_limit_ms: Option<f64>,
}

/// The figures at one load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadAnswer {
    /// The load, in the unit of [`Over::unit`].
    pub load: f64,
    /// The number of trials at this load.
    pub trials: u32,
    /// The number of requests of these trials.
    pub requests: u64,
    /// The number of these that count. Requests or jobs of start-up and drain do not count.
    pub counted: u64,
    /// Whether the trials at this load show that the objectives are met or missed.
    pub claim: Claim,
    /// The growth of the queue in the last trial. Absent if requests ended about as fast as they arrived, if the trial
    /// was too short to show a growth, or if it was cut off.
    pub saturation: Option<Saturation>,
    /// Present if so many requests missed an objective that the load cannot meet it. A trial may be cut off for this
    /// reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overwhelmed: Option<Overwhelmed>,
    /// Whether no trial at this load was long enough to reach a steady state. False if `overwhelmed` is present.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_too_short: bool,
    /// Whether streams of a trial arrived in bundles, so that objectives on times between tokens cannot be judged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lacks_gaps: bool,
    /// Whether requests of a closed loop with answers of equal length started together in a trial.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub starts_together: bool,
    /// The measured value of each objective, in the order of the objectives.
    pub objectives: Vec<CriterionEstimate>,
}

impl SearchAnswer {
    /// The requested lengths of the cell.
    pub fn cell(&self) -> CellPlan {
        CellPlan { input_length: self.input_length, output_length: self.output_length }
    }

    /// The cell, and the name of the tier if there is one: `512 x 128, gold`.
    pub fn place(&self) -> String {
        let tier = self.tier.as_ref().map_or_else(String::new, |tier| format!(", {tier}"));
        format!("{}{tier}", self.cell())
    }

    /// The best estimate. Earlier versions stored it only as `guess`.
    pub fn best(&self) -> Option<f64> {
        self.estimate.or(self.guess)
    }

    /// Whether the trials show that no allowed load meets the objectives.
    pub fn is_missed(&self) -> bool {
        self.outcome == SearchEnding::NotMetAtLowest
    }

    /// Whether the lowest tried load misses the objectives. A lower load may meet them.
    pub(super) fn is_missed_at_lowest_tried(&self) -> bool {
        let is_missed = |lowest: &LoadAnswer| {
            lowest.claim == Claim::NotMet || self.high.is_some_and(|high| high <= lowest.load)
        };
        self.best().is_none() && self.loads.first().is_some_and(is_missed)
    }

    /// The tried load whose figures illustrate the answer. Only loads that are not above the estimate, and that are not
    /// shown to miss the objectives, are considered. Of these, it is the highest load with a trial that was long
    /// enough. If all trials were too short, it is the load with the most counted requests. `None` without an estimate
    /// or without such a load.
    pub fn tried_below(&self) -> Option<f64> {
        let estimate = self.best()?;
        let below = |load: &&LoadAnswer| load.load <= estimate && load.claim != Claim::NotMet;
        let all = || self.loads.iter().filter(below);
        let long = all().rfind(|load| !load.is_too_short);
        long.or_else(|| all().max_by_key(|load| load.counted)).map(|load| load.load)
    }
}
