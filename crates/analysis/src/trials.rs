//! Searches and sweeps behind one interface. Their passes are trials, and the load of each trial depends on the
//! earlier trials. Code that measures or simulates trials needs no other module.

use std::time::Duration;

use inferometer_model::{PassPlan, RequestFigures, StopReason, Timeline};
use inferometer_plan::{Plan, Procedure};

use crate::search::{self, Search, Trial, TrialFold};
use crate::sweep::{LevelFold, LevelTrial, Sweep};

/// A search or a sweep in progress.
#[derive(Clone, Debug)]
pub enum Trials {
    /// Searches for the highest load that meets the objectives.
    Search(Search),
    /// Raises the load up to saturation.
    Sweep(Sweep),
}

/// The result of a trial.
#[derive(Clone, Debug, PartialEq)]
pub enum TrialResult {
    /// The result of a trial of a search.
    Search(Trial),
    /// The result of a trial of a sweep.
    Sweep(LevelTrial),
    /// The time limit ended the trial, and no other trial follows. A sweep uses the part of the trial that had ended,
    /// if this part is long enough. A search uses it only if it already shows that the load is far too high, because
    /// the coverage of the search's intervals was measured with whole trials.
    OutOfTime(Option<Box<TrialResult>>),
}

/// Collects the requests of a trial, in any order.
#[derive(Clone, Debug)]
pub enum TrialResultFold {
    /// The requests of a trial of a search.
    Search(Box<TrialFold>),
    /// The requests of a trial of a sweep.
    Sweep(LevelFold),
}

impl Trials {
    /// Starts the search or the sweep of a plan; `None` if the plan has neither.
    pub fn of(plan: &Plan) -> Option<Self> {
        match &plan.procedure {
            Procedure::Search(plan) => Some(Self::Search(Search::new(plan.clone()))),
            Procedure::Sweep(plan) => Some(Self::Sweep(Sweep::new(plan))),
            Procedure::Passes | Procedure::Ab(_) => None,
        }
    }

    /// The pass of the next trial, derived from the pass of the plan; `None` when no trial follows.
    pub fn next(&self, of_plan: &PassPlan) -> Option<PassPlan> {
        match self {
            Self::Search(found) => found.next().map(|asked| search::trial_pass(of_plan, asked)),
            Self::Sweep(found) => found.next().map(|asked| asked.pass(of_plan)),
        }
    }

    /// Adds the result of a trial. A trial with incomplete records may be ignored.
    pub fn add_trial(&mut self, tried: &TrialResult) {
        match (self, tried) {
            (Self::Search(found), TrialResult::Search(trial)) => found.tell(trial.clone()),
            (Self::Sweep(found), TrialResult::Sweep(trial)) => found.add_trial(trial.clone()),
            (trials, TrialResult::OutOfTime(part)) => {
                part.iter().for_each(|part| trials.add_trial(part));
                match trials {
                    Self::Search(found) => found.time_is_over(),
                    Self::Sweep(found) => found.time_is_over(),
                }
            }
            (Self::Search(_), TrialResult::Sweep(_)) | (Self::Sweep(_), TrialResult::Search(_)) => {
                unreachable!("invariant: the trials of a plan have the kind of its procedure")
            }
        }
    }

    /// The time of all trials so far, without pauses between them.
    pub fn time(&self) -> Duration {
        let time_s = match self {
            Self::Search(found) => found.time_s(),
            Self::Sweep(found) => found.time_s(),
        };
        Duration::try_from_secs_f64(time_s).unwrap_or(Duration::MAX)
    }

    /// Sets how much of the time limit is used, including the time outside of the trials, such as warm-up and pauses.
    /// If this method is never called, only the time of the trials counts.
    pub fn set_time(&mut self, taken: Duration) {
        match self {
            Self::Search(found) => found.set_time(taken.as_secs_f64()),
            Self::Sweep(found) => found.set_time(taken.as_secs_f64()),
        }
    }

    /// The number of trials that count.
    pub fn count(&self) -> u32 {
        match self {
            Self::Search(found) => found.trials(),
            Self::Sweep(found) => found.trials(),
        }
    }
}

impl TrialResult {
    /// Whether the trial was ended early because its result was certain. The server may then still work on requests of
    /// the trial.
    pub fn was_cut_off(&self) -> bool {
        matches!(self, Self::Search(trial) if trial.cut_off > 0)
    }
}

impl TrialResultFold {
    /// Starts to collect a trial; `None` if the plan has no trials, or if the load of the pass is not constant.
    pub fn of(plan: &Plan, pass: &PassPlan) -> Option<Self> {
        match &plan.procedure {
            Procedure::Search(plan) => {
                TrialFold::of(pass, &plan.criteria).map(Box::new).map(Self::Search)
            }
            Procedure::Sweep(plan) => LevelFold::of(pass, plan.confidence).map(Self::Sweep),
            Procedure::Passes | Procedure::Ab(_) => None,
        }
    }

    /// Adds a request.
    pub fn add(&mut self, timeline: &Timeline<'_>) {
        match self {
            Self::Search(fold) => fold.add_request(timeline),
            Self::Sweep(fold) => fold.add(&RequestFigures::of(timeline)),
        }
    }

    /// The result of the trial. `stopped` states why the pass was ended early; `None` if it was not.
    pub fn finish(self, stopped: Option<StopReason>) -> TrialResult {
        let is_cut = stopped == Some(StopReason::MaxTime);
        match self {
            Self::Search(fold) if is_cut => {
                TrialResult::OutOfTime(Some(Box::new(TrialResult::Search(fold.finish()))))
            }
            Self::Sweep(fold) if is_cut => {
                let part = fold.finish_cut().map(TrialResult::Sweep);
                TrialResult::OutOfTime(part.map(Box::new))
            }
            Self::Search(fold) => TrialResult::Search(fold.finish()),
            Self::Sweep(fold) => TrialResult::Sweep(fold.finish()),
        }
    }
}
