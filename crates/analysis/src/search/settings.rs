//! The limits of a search, the trial that it wants next, and how it can end.

use inferometer_plan::search::Criterion;
use serde::{Deserialize, Serialize};

/// What a search is for, and within which bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// What must hold; at least one.
    pub criteria: Vec<Criterion>,
    /// The load of the first trial.
    pub start: f64,
    /// The factor to the second; it grows to 2.
    pub stride: f64,
    /// The lowest load that is tried.
    pub lowest: f64,
    /// The highest one, if there is a limit.
    pub highest: Option<f64>,
    /// Whether loads are whole numbers.
    pub whole: bool,
    /// The probability that the interval holds the edge, at least.
    pub confidence: f64,
    /// Ends of the interval are to lie this close together, as a share of the lower one.
    pub precision: f64,
    /// The most requests of all trials.
    pub max_requests: u64,
    /// The most trials.
    pub max_trials: u32,
    /// The latency of a request alone in seconds, if it is known.
    pub latency_s: Option<f64>,
}

impl Settings {
    /// What one claim may be wrong: each trial gives one occasion to claim something of its load, on
    /// one side only, for a load meets the objectives or does not. What may go wrong in all of them
    /// together is shared out evenly (C. E. Bonferroni), so that it is right whatever load each trial
    /// is at and whatever was seen before.
    pub fn claim_level(&self) -> f64 {
        (1.0 - self.confidence) / f64::from(self.max_trials.max(1))
    }
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
    /// As many trials were made as the confidence was planned for.
    TrialsSpent,
    /// An objective on times between tokens could not be judged, because tokens came in bundles.
    NotMeasurable,
}
