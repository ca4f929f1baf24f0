//! The resolved options of a search. The trials are not in the plan: they are chosen during the run.

mod criterion;

use std::time::Duration;

use derive_more::Display;
use serde::{Deserialize, Serialize};

pub use criterion::{Criterion, CriterionError, CriterionResult, criteria};

/// Which load is varied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Display)]
#[display("{}", self.name())]
#[serde(rename_all = "snake_case")]
pub enum Over {
    /// Requests per second of an open loop.
    #[default]
    Rate,
    /// Requests in flight of a closed loop.
    Concurrency,
    /// Jobs of agents per second.
    JobRate,
    /// Jobs of agents at the same time.
    Jobs,
}

inferometer_model::names!(Over {
    Rate => "rate",
    Concurrency => "concurrency",
    JobRate => "job_rate",
    Jobs => "jobs",
});

impl Over {
    /// The unit of a load.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Rate => "requests/s",
            Self::Concurrency => "in flight",
            Self::JobRate => "jobs/s",
            Self::Jobs => "jobs at once",
        }
    }

    /// What a load and its trials count.
    pub fn counted(self) -> &'static str {
        if self.is_of_jobs() { "jobs" } else { "requests" }
    }

    /// Whether the load is of jobs of agents.
    pub fn is_of_jobs(self) -> bool {
        matches!(self, Self::JobRate | Self::Jobs)
    }

    /// Whether the load is a rate, and not a whole number in progress.
    pub fn is_rate(self) -> bool {
        matches!(self, Self::Rate | Self::JobRate)
    }

    /// The same load, of jobs.
    #[must_use]
    pub fn of_jobs(self) -> Self {
        match self {
            Self::Rate | Self::JobRate => Self::JobRate,
            Self::Concurrency | Self::Jobs => Self::Jobs,
        }
    }
}

/// The resolved options of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchPlan {
    /// Which load is varied.
    pub over: Over,
    /// The criteria; at least one.
    pub criteria: Vec<Criterion>,
    /// Groups of criteria. The criteria of a group must be met together. Empty: all criteria must be met
    /// together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<Tier>,
    /// The probability that the interval covers the edge, from 0 to 1. The edge is the highest load that
    /// meets the criteria.
    pub confidence: f64,
    /// How narrow the interval of the edge must be: its width as a share of its lower end.
    pub precision: f64,
    /// The load of the first trial, in the unit of [`Over::unit`].
    pub start: f64,
    /// The load of the second trial divided by that of the first trial, if the first trial meets the criteria.
    /// If the first trial misses them, a factor below 2 counts as 2.
    pub stride: f64,
    /// The lowest load that is tried.
    pub lowest: f64,
    /// The highest load that is tried, if there is a limit.
    pub highest: Option<f64>,
    /// The maximum number of requests of all trials of a cell together.
    pub max_requests: u64,
    /// The maximum number of trials of a cell.
    pub max_trials: u32,
    /// The maximum time of all trials of a cell together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_time: Option<Duration>,
}

/// A group of criteria with its own highest load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tier {
    /// The name of the tier.
    pub name: String,
    /// The indices of its criteria in [`SearchPlan::criteria`].
    pub criteria: Vec<usize>,
}

impl SearchPlan {
    /// The tiers, each with its name and the indices of its criteria. If the user gave no tiers, there
    /// is one tier without a name, and it has all criteria.
    pub fn tiers(&self) -> Vec<(Option<String>, Vec<usize>)> {
        if self.tiers.is_empty() {
            return vec![(None, (0..self.criteria.len()).collect())];
        }
        self.tiers.iter().map(|tier| (Some(tier.name.clone()), tier.criteria.clone())).collect()
    }

    /// The indices of the criteria of each tier.
    pub fn criteria_of_tiers(&self) -> Vec<Vec<usize>> {
        self.tiers().into_iter().map(|(_, criteria)| criteria).collect()
    }

    /// Whether loads are whole numbers: the numbers of requests in flight.
    pub fn is_whole(&self) -> bool {
        !self.over.is_rate()
    }
}
