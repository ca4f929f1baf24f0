//! The cost of a decode step, and of many consecutive decode steps with the same sequences. Nothing is scheduled here.

/// The cost of decode steps with a fixed number of sequences.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DecodeCost {
    pub(super) sequences: f64,
    pub(super) host_s: f64,
    pub(super) products_s: f64,
    pub(super) floor_s: f64,
    pub(super) output_token_s: f64,
    pub(super) context_token_s: f64,
    /// The time of the chain (see [`crate::cost`]) per token of context in the batch.
    pub(super) chain_context_token_s: f64,
    /// The upper bound of the time of the chain.
    pub(super) chain_most_s: f64,
}

impl DecodeCost {
    pub(super) fn seconds(&self, context: f64, generated: f64) -> f64 {
        let chain_s = (context * self.chain_context_token_s).min(self.chain_most_s);
        let attention = (context * self.context_token_s).max(chain_s);
        let device_s = (self.products_s + attention).max(self.floor_s);
        self.host_s + generated * self.output_token_s + device_s
    }

    /// Adds up consecutive decode steps of the same sequences, which grow by one token per step. The context grows by
    /// `growth` per step. Ends after `most` steps, or before a step that would begin at or after `limit_ns`. Returns
    /// the number of steps and their total time in nanoseconds.
    pub(crate) fn steps(
        &self,
        most: u32,
        (context, growth): (u64, u64),
        generated: u64,
        limit_ns: u64,
    ) -> (u32, u64) {
        let (mut context, growth) = (context as f64, growth as f64);
        let mut generated = generated as f64;
        let (mut steps, mut spent_ns) = (0, 0);
        while steps < most && spent_ns < limit_ns {
            spent_ns += nanoseconds(self.seconds(context, generated));
            context += growth;
            generated += self.sequences;
            steps += 1;
        }
        (steps, spent_ns)
    }
}

/// Whole nanoseconds, with halves rounded up.
pub(super) fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9 + 0.5) as u64
}

/// The batch size of the captured CUDA graph in which a decode step of `sequences` sequences runs: 1, 2, 4 and the
/// multiples of 8 up to 256 (`vllm/worker/model_runner.py`). Larger batches run without a graph.
pub(super) fn captured(sequences: u32) -> u32 {
    match sequences {
        0..=2 | 257.. => sequences,
        3..=4 => 4,
        5..=256 => sequences.next_multiple_of(8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_padded_to_the_sizes_of_captured_cuda_graphs() {
        for (batch, padded) in [(1, 1), (2, 2), (3, 4), (5, 8), (8, 8), (49, 56), (256, 256)] {
            assert_eq!(captured(batch), padded);
        }
        assert_eq!(captured(257), 257);
    }
}
