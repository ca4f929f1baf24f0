//! Keeps the estimates of nested tiers in order: a tier with stricter objectives cannot have a higher edge.

use super::Search;
use crate::search::edges::TierEdge;

impl Search {
    /// A separate curve is fitted for each tier, so by chance the estimate of a stricter tier may be above that of a
    /// less strict tier. A tier then gets the geometric mean of two estimates: the lowest estimate of this tier and
    /// all less strict tiers, and the highest estimate of this tier and all stricter tiers. Both estimates are in
    /// order, so their mean is in order, too. An interval is extended if it does not contain the new estimate.
    pub(super) fn order_nested_tiers(&mut self) {
        if self.tiers.len() < 2 {
            return;
        }
        let within = |edge: &TierEdge| {
            let (low, high) = (edge.low.unwrap_or(0.0), edge.high.unwrap_or(f64::INFINITY));
            edge.estimate.map(|estimate| estimate.max(low).min(high))
        };
        let estimates: Vec<Option<f64>> = self.tiers.iter().map(within).collect();
        let all = 0..estimates.len();
        let known = |tiers: &mut dyn Iterator<Item = usize>| -> Vec<f64> {
            tiers.filter_map(|tier| estimates[tier]).collect()
        };
        let ordered = |tier: usize| {
            let wider = known(&mut all.clone().filter(|&other| self.is_nested(tier, other)));
            let stricter = known(&mut all.clone().filter(|&other| self.is_nested(other, tier)));
            let [least, most] = [
                wider.into_iter().min_by(f64::total_cmp)?,
                stricter.into_iter().max_by(f64::total_cmp)?,
            ];
            Some(if least < most { (least * most).sqrt() } else { estimates[tier]? })
        };
        let ordered: Vec<Option<f64>> = all.clone().map(ordered).collect();
        for (edge, estimate) in self.tiers.iter_mut().zip(ordered) {
            if let (Some(estimate), true) = (estimate, edge.estimate.is_some()) {
                edge.estimate = Some(estimate);
                edge.low = edge.low.map(|low| low.min(estimate));
                edge.high = edge.high.map(|high| high.max(estimate));
            }
        }
    }

    /// Whether each objective of the tier `wide` is implied by one of the tier `strict`. True for a tier and itself.
    fn is_nested(&self, strict: usize, wide: usize) -> bool {
        let of = |tier: usize| {
            let criteria = &self.plan.criteria;
            self.criteria[tier].iter().map(move |&index| &criteria[index])
        };
        of(wide).all(|wide| of(strict).any(|strict| strict.implies(wide)))
    }
}
