//! Keeps the estimates of nested tiers in order: a tier with stricter objectives cannot bear a higher load.

use super::Search;
use crate::search::edges::TierEdge;

impl Search {
    /// If the estimate of a stricter tier is above that of a wider one, both get their geometric mean. Each tier has a
    /// curve of its own, so the two estimates differ by chance.
    pub(super) fn order_nested_tiers(&mut self) {
        for strict in 0..self.tiers.len() {
            for wide in 0..self.tiers.len() {
                if strict == wide || !self.is_nested(strict, wide) {
                    continue;
                }
                let [below, above] = [strict, wide].map(|tier| self.tiers[tier].estimate);
                if let Some((below, above)) =
                    below.zip(above).filter(|(below, above)| below > above)
                {
                    let both = self.within_both(strict, wide, (below * above).sqrt());
                    self.tiers[strict].estimate = Some(both);
                    self.tiers[wide].estimate = Some(both);
                }
            }
        }
    }

    /// Whether each objective of the tier `wide` is implied by one of the tier `strict`.
    fn is_nested(&self, strict: usize, wide: usize) -> bool {
        let of = |tier: usize| {
            let criteria = &self.settings.criteria;
            self.settings.tiers[tier].iter().map(move |&index| &criteria[index])
        };
        of(wide).all(|wide| of(strict).any(|strict| strict.implies(wide)))
    }

    /// The load of both intervals that is nearest to `load`; `load` itself if the intervals have none in common.
    fn within_both(&self, one: usize, other: usize, load: f64) -> f64 {
        let edges: [&TierEdge; 2] = [&self.tiers[one], &self.tiers[other]];
        let low = edges.iter().filter_map(|edge| edge.low).fold(0.0, f64::max);
        let high = edges.iter().filter_map(|edge| edge.high).fold(f64::INFINITY, f64::min);
        if low <= high { load.clamp(low, high) } else { load }
    }
}
