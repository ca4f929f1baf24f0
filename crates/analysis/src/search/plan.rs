//! Derives two things from the plan of a search: the pass of each trial, and the watcher that ends a trial early.

use inferometer_model::load::Level;
use inferometer_model::{ClosedPlan, OpenPlan, PassPlan};
use inferometer_plan::search::SearchPlan;

use super::outcome::NextTrial;
use super::overwhelmed::Watcher;

/// A watcher for the pass of a trial. The watcher shows when the load is certainly far too high, so that the trial can
/// be ended early. `None` for a pass whose load is not constant.
pub fn watcher(plan: &SearchPlan, pass: &PassPlan) -> Option<Watcher> {
    let tiers = plan.criteria_of_tiers();
    pass.constant_load().map(|_| Watcher::new(&plan.criteria, &tiers, pass))
}

/// The pass of a trial: the pass of the plan, with the load and the number of requests of the trial.
pub fn trial_pass(of_plan: &PassPlan, asked: NextTrial) -> PassPlan {
    let mut pass = of_plan.clone();
    if let PassPlan::Open(OpenPlan { rate: level, bound, .. })
    | PassPlan::Closed(ClosedPlan { concurrency: level, bound }) = &mut pass
    {
        *level = Level::Constant(asked.load);
        bound.requests = Some(u32::try_from(asked.requests).unwrap_or(u32::MAX));
    }
    pass
}
