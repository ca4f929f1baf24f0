//! Draws the pair of lengths of each request. The draw has its own random stream, so that both lengths of a request come
//! from the same pair.

use inferometer_model::stats::seed::{self, unit};
use inferometer_plan::LengthPair;

use crate::PromptScope;

/// Pairs of lengths, with their names and cumulative weights.
pub struct PairSampler {
    pairs: Vec<LengthPair>,
    names: Vec<String>,
    /// For each pair: the sum of the weights up to it.
    sums: Vec<f64>,
}

impl PairSampler {
    pub fn new(pairs: &[LengthPair]) -> Self {
        let add = |sum: &mut f64, pair: &LengthPair| {
            *sum += pair.weight;
            Some(*sum)
        };
        Self {
            sums: pairs.iter().scan(0.0, add).collect(),
            names: pairs.iter().map(ToString::to_string).collect(),
            pairs: pairs.to_vec(),
        }
    }

    /// The pair of the request with this index in a scope.
    pub fn of(&self, seed: u64, scope: &PromptScope, index: u64) -> &LengthPair {
        &self.pairs[self.place(seed, scope, index)]
    }

    /// The name of this pair; `None` if there is only one pair.
    pub fn name(&self, seed: u64, scope: &PromptScope, index: u64) -> Option<&str> {
        (self.pairs.len() > 1).then(|| &*self.names[self.place(seed, scope, index)])
    }

    fn place(&self, seed: u64, scope: &PromptScope, index: u64) -> usize {
        let (repeat, index) = (scope.repeat.to_string(), index.to_string());
        let mut rng = seed::rng(seed, &["length pair", &scope.cell, &scope.pass, &repeat, &index]);
        let at = unit(&mut rng) * self.sums.last().unwrap_or(&0.0);
        self.sums.partition_point(|sum| *sum <= at).min(self.pairs.len() - 1)
    }
}
