//! A search or a sweep: a plan whose passes are trials, at loads that depend on the trials before. Code
//! that measures or simulates trials needs nothing else.

use std::time::Duration;

use inferometer_load::PassPlan;
use inferometer_metrics::RequestFigures;
use inferometer_model::record::STOPPED_AT_MAX_TIME;
use inferometer_plan::Plan;

use crate::search::{self, Search, Trial, TrialFold};
use crate::sweep::{LevelFold, LevelTrial, Sweep};

/// A search or a sweep in progress.
#[derive(Clone, Debug)]
pub enum Trials {
    /// The highest load that meets the objectives.
    Search(Search),
    /// The load up to saturation.
    Sweep(Sweep),
}

/// The result of a trial.
#[derive(Clone, Debug, PartialEq)]
pub enum Tried {
    /// Of a search.
    Search(Trial),
    /// Of a sweep.
    Sweep(LevelTrial),
    /// The time limit ended it: it is ignored, and no other trial follows.
    OutOfTime,
}

/// Collects the requests of a trial, in any order.
#[derive(Clone, Debug)]
pub enum TriedFold {
    /// Of a search.
    Search(TrialFold),
    /// Of a sweep.
    Sweep(LevelFold),
}

impl Trials {
    /// The trials of a plan; absent if its passes are not trials.
    pub fn of(plan: &Plan) -> Option<Self> {
        match (&plan.search, &plan.sweep) {
            (Some(plan), _) => Some(Self::Search(Search::new(search::settings(plan)))),
            (None, Some(plan)) => Some(Self::Sweep(Sweep::new(plan))),
            (None, None) => None,
        }
    }

    /// The pass of the next trial, derived from that of the plan; absent when the answer is known.
    pub fn next(&self, of_plan: &PassPlan) -> Option<PassPlan> {
        match self {
            Self::Search(found) => found.next().map(|asked| search::trial_pass(of_plan, asked)),
            Self::Sweep(found) => found.next().map(|asked| asked.pass(of_plan)),
        }
    }

    /// Adds a trial. A trial with incomplete records may be ignored.
    pub fn tell(&mut self, tried: &Tried) {
        match (self, tried) {
            (Self::Search(found), Tried::Search(trial)) => found.tell(trial.clone()),
            (Self::Sweep(found), Tried::Sweep(trial)) => found.tell(trial.clone()),
            (Self::Search(found), Tried::OutOfTime) => found.time_is_over(),
            (Self::Sweep(found), Tried::OutOfTime) => found.time_is_over(),
            (Self::Search(_), Tried::Sweep(_)) | (Self::Sweep(_), Tried::Search(_)) => {}
        }
    }

    /// How long the next trial may take, if the time of all trials is limited.
    pub fn time_left(&self) -> Option<Duration> {
        let (most, taken_s) = match self {
            Self::Search(found) => (
                found.settings().max_time_s.map(Duration::try_from_secs_f64)?.ok()?,
                found.time_s(),
            ),
            Self::Sweep(found) => (found.plan().max_time?, found.time_s()),
        };
        Some(most.saturating_sub(Duration::try_from_secs_f64(taken_s).unwrap_or(Duration::MAX)))
    }

    /// Trials that count.
    pub fn count(&self) -> u32 {
        match self {
            Self::Search(found) => found.trials(),
            Self::Sweep(found) => found.trials(),
        }
    }
}

impl Tried {
    /// Whether it was ended early because its result was certain: the server may still work on its
    /// requests.
    pub fn was_cut_off(&self) -> bool {
        matches!(self, Self::Search(trial) if trial.cut_off > 0)
    }
}

impl TriedFold {
    /// A trial of a plan without requests yet; absent for a plan without trials.
    pub fn of(plan: &Plan, pass: &PassPlan) -> Option<Self> {
        match (&plan.search, &plan.sweep) {
            (Some(plan), _) => TrialFold::of(pass, &plan.criteria).map(Self::Search),
            (None, Some(plan)) => LevelFold::of(pass, plan.confidence).map(Self::Sweep),
            (None, None) => None,
        }
    }

    /// Adds a request.
    pub fn add(&mut self, figures: &RequestFigures) {
        match self {
            Self::Search(fold) => fold.add(figures),
            Self::Sweep(fold) => fold.add(figures),
        }
    }

    /// The trial. `stopped`: why its pass was ended early, if it was.
    pub fn finish(self, stopped: Option<&str>) -> Tried {
        match self {
            _ if stopped == Some(STOPPED_AT_MAX_TIME) => Tried::OutOfTime,
            Self::Search(fold) => Tried::Search(fold.finish()),
            Self::Sweep(fold) => Tried::Sweep(fold.finish()),
        }
    }
}
