//! The limits of a search, the trial that it wants next, and how it can end.

use inferometer_plan::search::Criterion;
use serde::{Deserialize, Serialize};

/// The goal of a search, and its limits.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// What is judged; at least one.
    pub criteria: Vec<Criterion>,
    /// The criteria of each tier, by their indices: all criteria of a tier must be met together, and each
    /// tier has an answer of its own. Without named tiers, one tier of all criteria.
    pub tiers: Vec<Vec<usize>>,
    /// The load of the first trial.
    pub start: f64,
    /// The factor from the first load to the second.
    pub stride: f64,
    /// The lowest load that is tried.
    pub lowest: f64,
    /// The highest one, if there is a limit.
    pub highest: Option<f64>,
    /// Whether loads are whole numbers.
    pub whole: bool,
    /// The probability that the interval covers the edge.
    pub confidence: f64,
    /// How narrow the interval must be: its width as a share of its lower end.
    pub precision: f64,
    /// The most requests of all trials.
    pub max_requests: u64,
    /// The most trials.
    pub max_trials: u32,
    /// The most time of all trials in seconds, if there is a limit.
    pub max_time_s: Option<f64>,
}

/// The trial that a search wants next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NextTrial {
    /// The load.
    pub load: f64,
    /// Its number of requests.
    pub requests: u64,
}

/// Why a search ended, or that it is not finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchEnding {
    /// It is not finished, or was stopped.
    Unfinished,
    /// The interval is as narrow as asked for.
    Found,
    /// Not even the lowest load meets the objectives.
    NotMetAtLowest,
    /// The highest load meets them too.
    MetAtHighest,
    /// The limit on requests was reached before the interval was as narrow as asked for.
    RequestsSpent,
    /// The limit on trials was reached.
    TrialsSpent,
    /// The time limit was reached.
    TimeSpent,
    /// An objective on times between tokens could not be judged, because tokens came in bundles.
    NotMeasurable,
}
