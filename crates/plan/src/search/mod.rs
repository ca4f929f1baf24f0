//! What a search was asked for, resolved: the part of a plan that is not its trials.

mod criterion;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use criterion::{Criterion, CriterionError, Judged, criteria};

/// What is made higher and higher.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Over {
    /// Requests per second of an open loop.
    #[default]
    Rate,
    /// Requests in flight of a closed loop.
    Concurrency,
}

inferometer_model::names!(Over { Rate => "rate", Concurrency => "concurrency" });

impl Over {
    /// The unit of a load.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Rate => "requests/s",
            Self::Concurrency => "in flight",
        }
    }
}

impl fmt::Display for Over {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A search, as a plan holds it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchPlan {
    /// What is made higher and higher.
    pub over: Over,
    /// What must hold; at least one.
    pub criteria: Vec<Criterion>,
    /// The probability that the interval holds the edge, at least.
    pub confidence: f64,
    /// Ends of the interval are to lie this close together, as a share of the lower one.
    pub precision: f64,
    /// The load of the first trial.
    pub start: f64,
    /// The factor to the second one.
    pub stride: f64,
    /// The lowest load that is tried.
    pub lowest: f64,
    /// The highest one, if there is a limit.
    pub highest: Option<f64>,
    /// The most requests of all trials of a cell.
    pub max_requests: u64,
    /// The most trials of a cell.
    pub max_trials: u32,
}
