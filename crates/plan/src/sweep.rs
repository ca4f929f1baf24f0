//! What a sweep was asked for, resolved: the part of a plan that is not its trials.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::search::Over;

/// A sweep, as a plan holds it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepPlan {
    /// What is made higher and higher.
    pub by: Over,
    /// The share of the throughput at saturation that is reached at the knee.
    pub knee: f64,
    /// The probability that an interval holds what it is of.
    pub confidence: f64,
    /// Ends of the knee's interval are to lie this close together, as a share of the lower one.
    pub precision: f64,
    /// The highest load that is tried, if there is a limit.
    pub highest: Option<f64>,
    /// The most requests of all trials of a cell.
    pub max_requests: u64,
    /// The most trials of a cell.
    pub max_trials: u32,
    /// The most time of all trials of a cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_time: Option<Duration>,
    /// Cards that the server runs on, where that was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpus: Option<u32>,
}
