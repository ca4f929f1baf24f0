//! `[search]`: the search for the highest load that meets the objectives, as the user writes it.

use serde::{Deserialize, Serialize};

use super::Value;

/// The keys of `[search]`. Everything is optional.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SearchSpec {
    /// Which load is varied: `rate`, `concurrency`.
    pub over: Option<String>,
    /// The share of requests that must meet the objectives of `goodput`.
    pub attainment: Option<Value>,
    /// The probability that the interval covers the edge. The edge is the highest load that meets the
    /// objectives.
    pub confidence: Option<Value>,
    /// How narrow the interval of the edge must be, relative to its lower end.
    pub precision: Option<Value>,
    /// The lowest load that is tried.
    pub from: Option<Value>,
    /// The highest load that is tried.
    pub to: Option<Value>,
    /// The load of the first trial.
    pub start: Option<Value>,
    /// The load of the second trial divided by that of the first trial, if the first trial meets the
    /// objectives. A factor below 2 grows to 2 in later trials.
    pub stride: Option<Value>,
    /// The maximum number of requests of all trials of a cell together.
    pub max_requests: Option<u64>,
    /// The maximum number of trials of a cell.
    pub max_trials: Option<u32>,
    /// The maximum time of all trials of a cell together.
    pub max_time: Option<Value>,
    /// Groups of objectives, each with its own highest load: `name=objectives`.
    pub tier: Option<Vec<String>>,
}
