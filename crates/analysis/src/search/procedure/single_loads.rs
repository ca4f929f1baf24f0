//! Bounds the edge by single loads, on each side on which the curve through all trials does not bound the edge.

use super::Search;
use crate::search::capacity::shown_by;
use crate::search::evidence::Claim;
use crate::search::known::Load;

impl Search {
    /// If the curve does not bound the edge of a tier on one side, a single load bounds it on this side. The lower
    /// bound is the highest load up to the estimate that is shown to meet the objectives. The upper bound is the lowest
    /// load from the estimate on that is shown to miss them.
    pub(super) fn bound_by_single_loads(&mut self) {
        if self.tiers.iter().all(|edge| edge.low.is_some() && edge.high.is_some()) {
            return;
        }
        let loads = self.loads();
        for (edge, tier) in self.tiers.iter_mut().zip(&self.criteria) {
            let Some(estimate) = edge.estimate else { continue };
            let of = |claim: Claim| loads.iter().filter(move |load| load.claim(tier) == claim);
            // Trials without a steady state do not show that a load meets the objectives, so most of the counted
            // requests must come from trials with a steady state.
            let is_settled = |load: &&Load| {
                let own = self.trials.iter().filter(|(trial, _)| trial.load == load.load);
                let of_settled = own.filter(|(trial, _)| trial.is_settled);
                let counted: u64 = of_settled.map(|(trial, _)| trial.counted).sum();
                2 * counted > load.counted
            };
            let met = of(Claim::Met).filter(|load| load.load <= estimate).filter(is_settled);
            // A trial at a rate shows a steady state only up to a somewhat lower load.
            let met = met.map(|load| {
                let own = self.trials.iter().filter(|(trial, _)| trial.load == load.load);
                let settled = own.filter(|(trial, _)| trial.is_settled);
                let shown = settled.map(|(trial, _)| shown_by(trial)).fold(0.0, f64::max);
                if self.plan.is_whole() { load.load } else { shown }
            });
            let not_met = of(Claim::NotMet).filter(|load| load.load >= estimate);
            edge.low = edge.low.or_else(|| met.filter(|low| *low > 0.0).max_by(f64::total_cmp));
            edge.high = edge.high.or_else(|| not_met.map(|load| load.load).min_by(f64::total_cmp));
        }
    }
}
