//! The workload `prefix`: groups of prompts that share a prefix, such as a system prompt or a document.
//! Every pass has new prefixes, which are not yet in the prefix cache. So the first request of a group
//! has the class `cold`, and later requests of the group have the class `warm`. A request without a group
//! has the class `unshared`.

use std::sync::Arc;

use inferometer_model::stats::seed::{self, below, unit};
use inferometer_model::{CellPlan, stats::portable};
use inferometer_plan::PrefixPlan;

use super::words::{self, Shape};
use crate::workload::WorkloadDefinition;
use crate::{PromptContext, PromptScope, RequestBatch, RequestsNeeded, Workload, WorkloadError};

/// The workload `prefix`.
struct PrefixGroups(PrefixPlan);

impl WorkloadDefinition for PrefixPlan {
    fn open(&self, _context: &PromptContext) -> Result<Arc<dyn Workload>, WorkloadError> {
        Ok(Arc::new(PrefixGroups(self.clone())))
    }
}

impl PrefixGroups {
    /// The group of each request; `None` for a request that shares no prefix.
    fn assign(&self, seed: u64, scope: &PromptScope, count: usize) -> Vec<Option<u32>> {
        let Self(PrefixPlan { groups, zipf, warm_share, .. }) = *self;
        let stream = |what: &str, index: usize| {
            let (repeat, index) = (scope.repeat.to_string(), index.to_string());
            seed::rng(seed, &["prefix", what, &scope.cell, &scope.pass, &repeat, &index])
        };
        let up_to = zipf_shares(groups, zipf);
        let mut round: Vec<u32> = Vec::new();
        let mut assigned = Vec::with_capacity(count);
        for index in 0..count {
            if unit(&mut stream("share", index)) >= warm_share {
                assigned.push(None);
                continue;
            }
            let group = if zipf == 0.0 {
                // In each round, every group occurs once, in random order.
                if round.is_empty() {
                    round = (0..groups).collect();
                    let mut rng = stream("round", index);
                    for last in (1..round.len()).rev() {
                        round.swap(last, below(&mut rng, last as u64 + 1) as usize);
                    }
                }
                round.pop().expect("invariant: there is at least one group")
            } else {
                let share = unit(&mut stream("group", index));
                let group = up_to.partition_point(|up_to| *up_to <= share) as u32;
                group.min(groups - 1)
            };
            assigned.push(Some(group));
        }
        assigned
    }
}

/// The cumulative shares of the groups. The share of group k is proportional to k^-zipf.
fn zipf_shares(groups: u32, zipf: f64) -> Vec<f64> {
    let weights = (1..=groups).map(|rank| portable::pow(f64::from(rank), -zipf));
    let mut up_to: Vec<f64> = weights
        .scan(0.0, |sum, weight| {
            *sum += weight;
            Some(*sum)
        })
        .collect();
    let total = up_to.last().copied().unwrap_or(1.0);
    up_to.iter_mut().for_each(|sum| *sum /= total);
    up_to
}

impl Workload for PrefixGroups {
    fn requests(&self, wanted: &RequestsNeeded<'_>) -> Result<RequestBatch, WorkloadError> {
        let RequestsNeeded { context, cell, scope, count, .. } = *wanted;
        let mut seen = vec![false; self.0.groups as usize];
        let shape = |group: Option<u32>| {
            let before = group.map(|group| std::mem::replace(&mut seen[group as usize], true));
            let class = match before {
                None => "unshared",
                Some(false) => "cold",
                Some(true) => "warm",
            };
            let CellPlan { input_length: input, output_length: output } = cell;
            Shape { input, output, group, class: Some(class) }
        };
        let shapes: Vec<Shape<'_>> =
            self.assign(context.seed, scope, count).into_iter().map(shape).collect();
        words::requests(wanted, self.0.prefix_length, &shapes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assigned(zipf: f64, warm_share: f64, seed: u64, count: usize) -> Vec<Option<u32>> {
        let plan = PrefixPlan { groups: 5, prefix_length: 8, zipf, warm_share };
        PrefixGroups(plan).assign(seed, &PromptScope::new("cell", "pass", 0), count)
    }

    fn sizes(assigned: &[Option<u32>]) -> Vec<usize> {
        (0..5).map(|group| assigned.iter().filter(|found| **found == Some(group)).count()).collect()
    }

    #[test]
    fn groups_have_equal_sizes_and_are_shuffled_again_in_each_round() {
        let found = assigned(0.0, 1.0, 1, 50);
        assert_eq!(sizes(&found), [10; 5]);
        assert!(found.chunks(5).any(|round| round != &found[..5]));
        assert_eq!(found, assigned(0.0, 1.0, 1, 50));
        assert_eq!(found[..20], assigned(0.0, 1.0, 1, 20));
        assert_ne!(found, assigned(0.0, 1.0, 2, 50));
    }

    #[test]
    fn with_a_zipf_exponent_of_1_the_size_of_group_k_is_proportional_to_1_over_k() {
        let found = sizes(&assigned(1.0, 1.0, 1, 13_700));
        for (rank, size) in found.iter().enumerate() {
            let expected = 6_000 / (rank + 1);
            assert!(size.abs_diff(expected) < 300, "{found:?}");
        }
    }

    #[test]
    fn requests_beyond_the_warm_share_belong_to_no_group() {
        let found = assigned(0.0, 0.8, 1, 10_000);
        let unshared = found.iter().filter(|group| group.is_none()).count();
        assert!(unshared.abs_diff(2_000) < 200, "{unshared}");
    }
}
