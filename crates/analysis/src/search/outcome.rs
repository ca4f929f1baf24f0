//! The next trial of a search, and the ways in which a search can end.

use serde::{Deserialize, Serialize};

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
