//! The limits of a search, the trial that it wants next, and how it can end.

use inferometer_plan::search::Criterion;
use serde::{Deserialize, Serialize};

/// What a search is for, and within which bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// What is judged; at least one.
    pub criteria: Vec<Criterion>,
    /// The criteria that must hold together, tier by tier, by their places: each tier has an answer of
    /// its own. One tier of all of them where none were named.
    pub tiers: Vec<Vec<usize>>,
    /// The load of the first trial.
    pub start: f64,
    /// The factor to the second.
    pub stride: f64,
    /// The lowest load that is tried.
    pub lowest: f64,
    /// The highest one, if there is a limit.
    pub highest: Option<f64>,
    /// Whether loads are whole numbers.
    pub whole: bool,
    /// The probability that the interval holds the edge.
    pub confidence: f64,
    /// Ends of the interval are to lie this close together, as a share of the lower one.
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

/// Why a search ended, or that it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It goes on, or was broken off.
    Unfinished,
    /// The interval is as narrow as was asked for.
    Found,
    /// Not even the lowest load meets the objectives.
    NotMetAtLowest,
    /// The highest load meets them too.
    MetAtHighest,
    /// The requests were spent before the interval was as narrow as was asked for.
    RequestsSpent,
    /// As many trials were made as were allowed.
    TrialsSpent,
    /// The time was spent.
    TimeSpent,
    /// An objective on times between tokens could not be judged, because tokens came in bundles.
    NotMeasurable,
}
