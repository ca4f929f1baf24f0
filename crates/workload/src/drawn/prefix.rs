//! The workload `prefix`: groups of prompts that share a beginning, as system prompts and documents
//! make them. Groups are a place's own, so each pass begins with an empty cache as far as its
//! prompts go: the first request of a group is `cold`, the others are `warm`; a request of no
//! group is `unshared`.

use inferometer_model::cell::CellPlan;
use inferometer_plan::PrefixPlan;
use inferometer_stats::portable;
use inferometer_stats::seed;
use inferometer_stats::seed::{below, unit};

use super::words::{self, Shape};
use crate::error::WorkloadError;
use crate::place::PromptPlace;
use crate::requests::{Built, Shared, Workload};

/// The workload `prefix`.
pub(crate) struct Groups(PrefixPlan);

impl Groups {
    pub(crate) fn new(plan: &PrefixPlan) -> Self {
        Self(plan.clone())
    }

    /// The group of each request.
    fn deal(&self, seed: u64, place: &PromptPlace, count: usize) -> Vec<Option<u32>> {
        let Self(PrefixPlan { groups, zipf, warm_share, .. }) = *self;
        let stream = |what: &str, index: usize| {
            let (repeat, index) = (place.repeat.to_string(), index.to_string());
            seed::rng(seed, &["prefix", what, &place.cell, &place.pass, &repeat, &index])
        };
        let up_to = zipf_shares(groups, zipf);
        let mut round: Vec<u32> = Vec::new();
        let mut dealt = Vec::with_capacity(count);
        for index in 0..count {
            if unit(&mut stream("share", index)) >= warm_share {
                dealt.push(None);
                continue;
            }
            let group = if zipf == 0.0 {
                // Each round has every group once, in an order of its own.
                if round.is_empty() {
                    round = (0..groups).collect();
                    let mut rng = stream("round", index);
                    for last in (1..round.len()).rev() {
                        round.swap(last, below(&mut rng, last as u64 + 1) as usize);
                    }
                }
                round.pop().expect("invariant: there is a group")
            } else {
                let share = unit(&mut stream("group", index));
                let group = up_to.partition_point(|up_to| *up_to <= share) as u32;
                group.min(groups - 1)
            };
            dealt.push(Some(group));
        }
        dealt
    }
}

/// The shares of the groups, summed up: the k-th has a share in proportion to k^-zipf.
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

impl Workload for Groups {
    fn requests(
        &self,
        shared: &Shared,
        cell: CellPlan,
        place: &PromptPlace,
        count: usize,
    ) -> Result<Built, WorkloadError> {
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
        let shapes: Vec<Shape> =
            self.deal(shared.seed, place, count).into_iter().map(shape).collect();
        words::requests(shared, place, self.0.prefix_length, &shapes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dealt(zipf: f64, warm_share: f64, seed: u64, count: usize) -> Vec<Option<u32>> {
        let plan = PrefixPlan { groups: 5, prefix_length: 8, zipf, warm_share };
        Groups::new(&plan).deal(seed, &PromptPlace::new("cell", "pass", 0), count)
    }

    fn sizes(dealt: &[Option<u32>]) -> Vec<usize> {
        (0..5).map(|group| dealt.iter().filter(|found| **found == Some(group)).count()).collect()
    }

    #[test]
    fn groups_are_dealt_evenly_and_in_another_order_each_round() {
        let found = dealt(0.0, 1.0, 1, 50);
        assert_eq!(sizes(&found), [10; 5]);
        assert!(found.chunks(5).any(|round| round != &found[..5]));
        assert_eq!(found, dealt(0.0, 1.0, 1, 50));
        assert_eq!(found[..20], dealt(0.0, 1.0, 1, 20));
        assert_ne!(found, dealt(0.0, 1.0, 2, 50));
    }

    #[test]
    fn zipf_makes_the_k_th_group_a_k_th_as_large() {
        let found = sizes(&dealt(1.0, 1.0, 1, 13_700));
        for (rank, size) in found.iter().enumerate() {
            let expected = 6_000 / (rank + 1);
            assert!(size.abs_diff(expected) < 300, "{found:?}");
        }
    }

    #[test]
    fn a_share_of_requests_belongs_to_no_group() {
        let found = dealt(0.0, 0.8, 1, 10_000);
        let unshared = found.iter().filter(|group| group.is_none()).count();
        assert!(unshared.abs_diff(2_000) < 200, "{unshared}");
    }
}
