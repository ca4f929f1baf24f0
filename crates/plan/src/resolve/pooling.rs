//! Resolves the inputs of requests without output tokens, and refuses keys about outputs that they do not have.

use inferometer_model::pooled::is_pooling;

use crate::PoolingPlan;
use crate::spec::{Mistakes, Spec};

impl Spec {
    /// Whether the dialect has no output tokens.
    pub(crate) fn pools(&self) -> bool {
        self.dialect.as_deref().is_some_and(is_pooling)
    }

    /// The inputs of requests without output tokens, which only some workloads have.
    pub(super) fn pooling(&self, mistakes: &mut Mistakes) -> Option<PoolingPlan> {
        let pooling = self.pooling.resolve(self.dialect.as_deref(), mistakes)?;
        if self.ab.is_some() {
            mistakes
                .add("dialect", "has no output, but a comparison in blocks is of generated text");
        }
        let workload = self.workload.name();
        if !["random", "prefix", "jsonl", "csv", "parquet"].contains(&workload) {
            mistakes.add(
                "workload",
                format!("{workload} has no inputs for this --dialect; use random, prefix or rows"),
            );
        }
        if self.workload.drawn.has_pairs() {
            let problem = "has pairs with output lengths: answers of this --dialect have no output";
            mistakes.add("input_distribution", problem);
        }
        for key in self.given(&[
            "temperature", "ignore_eos", "stream", "split_think", "output_lengths", "output_length",
        ]) {
            mistakes
                .add(key, "is not used: answers of this --dialect have no output; leave it out");
        }
        Some(pooling)
    }
}
