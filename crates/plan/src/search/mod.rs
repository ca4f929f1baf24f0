//! What a search was asked for, resolved: the part of a plan that is not its trials.

mod criterion;

use std::fmt;
use std::time::Duration;

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
    /// What is judged; at least one.
    pub criteria: Vec<Criterion>,
    /// Which of the criteria must hold together; none where all of them must.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<Tier>,
    /// The probability that the interval holds the edge.
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
    /// The most time of all trials of a cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_time: Option<Duration>,
}

/// Objectives of one search that have an answer of their own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tier {
    /// As people call it.
    pub name: String,
    /// Its criteria, by their places.
    pub criteria: Vec<usize>,
}

impl SearchPlan {
    /// The tiers, each with its criteria by their places; one without a name where none were asked for.
    pub fn tiers(&self) -> Vec<(Option<String>, Vec<usize>)> {
        if self.tiers.is_empty() {
            return vec![(None, (0..self.criteria.len()).collect())];
        }
        self.tiers.iter().map(|tier| (Some(tier.name.clone()), tier.criteria.clone())).collect()
    }
}
