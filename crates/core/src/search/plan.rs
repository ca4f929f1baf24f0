//! What a search was asked for, resolved: the part of a plan that is not its trials.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::criterion::Criterion;
use super::overwhelmed::Watcher;
use super::procedure::{Asked, Settings};
use crate::load::Level;
use crate::plan::PassPlan;

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

impl Over {
    /// The name in plans and results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Concurrency => "concurrency",
        }
    }

    /// The unit of a load.
    #[must_use]
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

impl SearchPlan {
    /// The settings of the procedure.
    #[must_use]
    pub fn settings(&self) -> Settings {
        Settings {
            criteria: self.criteria.clone(),
            start: self.start,
            stride: self.stride,
            lowest: self.lowest,
            highest: self.highest,
            whole: self.over == Over::Concurrency,
            confidence: self.confidence,
            precision: self.precision,
            max_requests: self.max_requests,
            max_trials: self.max_trials,
            latency_s: None,
        }
    }

    /// What ends the pass of a trial as soon as its claim is certain; none for a pass that is no trial.
    #[must_use]
    pub fn watcher(&self, pass: &PassPlan) -> Option<Watcher> {
        let watcher = || Watcher::new(&self.criteria, pass, self.settings().claim_level());
        load_of(pass).map(|_| watcher())
    }

    /// The pass of a trial: that of the plan, at the load and with the requests that were asked for.
    #[must_use]
    pub fn pass(&self, of_plan: &PassPlan, asked: Asked) -> PassPlan {
        let mut pass = of_plan.clone();
        if let PassPlan::Open { rate: level, bound, .. }
        | PassPlan::Closed { concurrency: level, bound } = &mut pass
        {
            *level = Level::Constant(asked.load);
            bound.requests = Some(u32::try_from(asked.requests).unwrap_or(u32::MAX));
        }
        pass
    }
}

/// The load of a trial, by its pass; absent for a pass that is no trial.
#[must_use]
pub fn load_of(pass: &PassPlan) -> Option<f64> {
    match pass {
        PassPlan::Open { rate: level, .. } | PassPlan::Closed { concurrency: level, .. } => {
            level.constant()
        }
        _ => None,
    }
}
