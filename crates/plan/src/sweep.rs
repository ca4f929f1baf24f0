//! The resolved options of a sweep. The trials are not in the plan: they are chosen during the run.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::search::Over;

/// The number of requests of the first trial, with one request in flight. If `max_requests` is smaller, the sweep
/// cannot begin.
pub const FEWEST_REQUESTS: u64 = 24;

/// The resolved options of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepPlan {
    /// Which load is varied.
    pub by: Over,
    /// The share of the saturation throughput that defines the knee: the knee is the load at which this
    /// share is reached. From 0 to 1.
    pub knee: f64,
    /// The probability that an interval covers the true value.
    pub confidence: f64,
    /// How narrow the knee's interval must be: its width as a share of its lower end.
    pub precision: f64,
    /// The highest load that is tried, if there is a limit.
    pub highest: Option<f64>,
    /// The maximum number of requests of all trials of a cell together.
    pub max_requests: u64,
    /// The maximum number of trials of a cell.
    pub max_trials: u32,
    /// The maximum time of all trials of a cell together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_time: Option<Duration>,
    /// The number of cards that the server uses; absent if the user did not give it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpus: Option<u32>,
}
