//! The goal and the limits of a search, its next trial, and the ways in which it can end.

use inferometer_plan::search::Criterion;
use serde::{Deserialize, Serialize};

/// The goal of a search, and its limits.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The criteria that are judged; at least one.
    pub criteria: Vec<Criterion>,
    /// The criteria of each tier, by their indices. All criteria of a tier must be met together, and each tier has its
    /// own answer. Without named tiers, there is one tier of all criteria.
    pub tiers: Vec<Vec<usize>>,
    /// The load of the first trial.
    pub start: f64,
    /// The factor between the loads of the first trials, until one load meets the objectives and another load misses
    /// them.
    pub stride: f64,
    /// The lowest load that may be tried.
    pub lowest: f64,
    /// The highest load that may be tried; absent without a limit.
    pub highest: Option<f64>,
    /// Whether loads are whole numbers, as for requests in flight.
    pub whole: bool,
    /// The probability, from 0 to 1, that the interval contains the edge: the highest load that meets the objectives.
    pub confidence: f64,
    /// The requested width of the interval, as a share of its lower end.
    pub precision: f64,
    /// The largest number of requests of all trials together.
    pub max_requests: u64,
    /// The largest number of trials.
    pub max_trials: u32,
    /// The time limit in seconds, for the trials and for the other time that `Search::set_time` adds; absent without a
    /// limit.
    pub max_time_s: Option<f64>,
}

/// The next trial of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NextTrial {
    /// The load: requests per second, or requests in flight.
    pub load: f64,
    /// The number of requests of the trial.
    pub requests: u64,
}

/// Why a search ended, or that it is not finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchEnding {
    /// The search is not finished, or was stopped.
    Unfinished,
    /// The interval is as narrow as requested.
    Found,
    /// Even the lowest load misses the objectives, or requests that were alone on the server miss them.
    NotMetAtLowest,
    /// The highest allowed load meets the objectives.
    MetAtHighest,
    /// The limit on requests was reached before the interval was narrow enough.
    RequestsSpent,
    /// The limit on trials was reached before the interval was narrow enough.
    TrialsSpent,
    /// The time limit was reached before the interval was narrow enough.
    TimeSpent,
    /// An objective on times between tokens cannot be judged, because tokens arrived in bundles.
    NotMeasurable,
}
