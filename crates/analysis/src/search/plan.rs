//! Derives three things from the plan of a search: the settings of the procedure, the pass of each trial, and the
//! watcher that ends a trial early.

use inferometer_model::load::Level;
use inferometer_model::{ClosedPlan, OpenPlan, PassPlan};
use inferometer_plan::search::{Over, SearchPlan};

use super::overwhelmed::Watcher;
use super::settings::{NextTrial, Settings};

/// The settings of the procedure, from the plan.
pub fn settings(plan: &SearchPlan) -> Settings {
    Settings {
        criteria: plan.criteria.clone(),
        tiers: plan.tiers().into_iter().map(|(_, criteria)| criteria).collect(),
        start: plan.start,
        stride: plan.stride,
        lowest: plan.lowest,
        highest: plan.highest,
        whole: plan.over == Over::Concurrency,
        confidence: plan.confidence,
        precision: plan.precision,
        max_requests: plan.max_requests,
        max_trials: plan.max_trials,
        max_time_s: plan.max_time.map(|most| most.as_secs_f64()),
    }
}

/// A watcher for the pass of a trial. The watcher shows when the load is certainly far too high, so that the trial can
/// be ended early. `None` for a pass whose load is not constant.
pub fn watcher(plan: &SearchPlan, pass: &PassPlan) -> Option<Watcher> {
    let settings = settings(plan);
    pass.constant_load().map(|_| Watcher::new(&settings.criteria, &settings.tiers, pass))
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
