//! Names an adapter (LoRA) as the model of each request, by the mix of a plan.

use std::collections::BTreeSet;

use inferometer_model::stats::seed::{rng, unit};
use inferometer_plan::AdapterPlan;

use crate::{PromptScope, RequestBatch, WorkloadError};

/// The class of the first request of each adapter among the requests of a run with one input length, those of warm-ups
/// included: a server may have to load the adapter.
const FIRST_USE: &str = "first use";

/// Chooses the adapters of requests. The same plan, seed and place in the run give the same adapters.
#[derive(Clone, Debug)]
pub struct AdapterMix {
    plan: AdapterPlan,
    /// For each rank: the sum of the weights up to it.
    sums: Vec<f64>,
    seed: u64,
}

impl AdapterMix {
    /// The mix of a plan with this seed.
    pub fn new(plan: AdapterPlan, seed: u64) -> Self {
        let add = |sum: &mut f64, weight: &f64| {
            *sum += weight;
            Some(*sum)
        };
        let sums = plan.weights.iter().scan(0.0, add).collect();
        Self { plan, sums, seed }
    }

    /// Names the adapters of the requests of a pass from the index `first` on. The class of a request begins with its
    /// adapter, or is `first use`.
    ///
    /// # Errors
    /// If a request names a model of its own.
    pub(crate) fn add_to(
        &self,
        batch: &mut RequestBatch,
        scope: &PromptScope,
        first: u64,
    ) -> Result<(), WorkloadError> {
        let from = scope.used_before + first;
        let mut used = BTreeSet::new();
        for index in 0..from {
            if used.len() == self.plan.names.len() {
                break;
            }
            used.insert(self.of(index));
        }
        for (index, request) in (from..).zip(&mut batch.requests) {
            let name = self.of(index);
            if request.extra_body.insert("model".to_owned(), name.into()).is_some() {
                return Err(WorkloadError::TwoModels);
            }
            let class = if used.insert(name) { FIRST_USE } else { name };
            request.class = Some(match request.class.take() {
                None => class.into(),
                Some(of_workload) => format!("{class}, {of_workload}").into(),
            });
        }
        Ok(())
    }

    /// The adapter of the request with this place in the run.
    fn of(&self, index: u64) -> &str {
        let AdapterPlan { names, shift, .. } = &self.plan;
        let at = unit(&mut rng(self.seed, &["adapter", &index.to_string()]))
            * self.sums.last().unwrap_or(&0.0);
        let rank = self.sums.partition_point(|sum| *sum <= at).min(names.len() - 1);
        let moved = shift.map_or(0, |count| index / u64::from(count));
        &names[((rank as u64 + moved) % names.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use inferometer_model::{Prompt, Request};

    use super::*;

    /// How often each adapter is named by the requests from `first` on, and how many are first uses.
    fn named(mix: &AdapterMix, first: u64, count: usize) -> (BTreeMap<String, u32>, usize) {
        let request = Request::new(Prompt::Text("a".to_owned()), 1, 1);
        let mut batch = RequestBatch { requests: vec![request; count], notes: Vec::new() };
        let scope = PromptScope::new("cell", "pass", 0);
        mix.add_to(&mut batch, &scope, first).expect("names");
        assert!(mix.add_to(&mut batch, &scope, first).is_err(), "requests have models already");
        let mut found = BTreeMap::new();
        for request in &batch.requests {
            let name = request.extra_body["model"].as_str().expect("a name");
            *found.entry(name.to_owned()).or_default() += 1;
        }
        let is_first = |request: &&Request| request.class.as_deref() == Some(FIRST_USE);
        (found, batch.requests.iter().filter(is_first).count())
    }

    #[test]
    fn requests_name_adapters_by_their_weights_and_each_has_one_first_use() {
        let names = ["a", "b", "c"].map(str::to_owned).to_vec();
        let plan = AdapterPlan { names, weights: vec![6.0, 3.0, 1.0], shift: None };
        let (found, firsts) = named(&AdapterMix::new(plan.clone(), 1), 0, 10_000);
        for (name, share) in [("a", 0.6), ("b", 0.3), ("c", 0.1)] {
            let of = f64::from(found[name]) / 10_000.0;
            assert!((of - share).abs() < 0.02, "{name}: {of}");
        }
        assert_eq!((firsts, named(&AdapterMix::new(plan.clone(), 1), 5_000, 100).1), (3, 0));
        // The ranks move on: in the second 1,000 requests, b has the rank of a.
        let moving = AdapterMix::new(AdapterPlan { shift: Some(1_000), ..plan }, 1);
        let most = |first| {
            let found = named(&moving, first, 1_000).0;
            found.into_iter().max_by_key(|it| it.1).map(|it| it.0)
        };
        assert_eq!([0, 1_000, 2_000].map(most), ["a", "b", "c"].map(|name| Some(name.to_owned())));
    }
}
