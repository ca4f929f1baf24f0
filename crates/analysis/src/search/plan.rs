//! Derives two things from the plan of a search: the pass of each trial, and the watcher that ends a trial early.

use inferometer_model::load::{ConversationsPlan, Level};
use inferometer_model::{ClosedPlan, OpenPlan, PassPlan};
use inferometer_plan::search::SearchPlan;

use super::outcome::NextTrial;
use super::overwhelmed::Watcher;

/// A watcher for the pass of a trial. The watcher shows when the load is certainly far too high, so that the trial can
/// be ended early. `None` for a pass whose load is not constant, and for jobs: only their last calls show how long they
/// take.
pub fn watcher(plan: &SearchPlan, pass: &PassPlan) -> Option<Watcher> {
    let tiers = plan.criteria_of_tiers();
    let is_watched = pass.constant_load().is_some() && !plan.over.is_of_jobs();
    is_watched.then(|| Watcher::new(&plan.criteria, &tiers, pass))
}

/// The pass of a trial: the pass of the plan, with the load and the number of requests of the trial.
pub fn trial_pass(of_plan: &PassPlan, asked: NextTrial) -> PassPlan {
    let requests = u32::try_from(asked.requests).unwrap_or(u32::MAX);
    if let PassPlan::Conversations(of_jobs) = of_plan {
        let begin = Box::new(trial_pass(&of_jobs.begin, asked));
        return PassPlan::Conversations(ConversationsPlan { begin, ..of_jobs.with_jobs(requests) });
    }
    let mut pass = of_plan.clone();
    if let PassPlan::Open(OpenPlan { rate: level, bound, .. })
    | PassPlan::Closed(ClosedPlan { concurrency: level, bound }) = &mut pass
    {
        *level = Level::Constant(asked.load);
        bound.requests = Some(requests);
    }
    pass
}
