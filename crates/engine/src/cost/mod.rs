//! What a step costs, in seconds: the calibrated form of the cost and its terms. No scheduling.
//!
//! With B sequences, C tokens of context in the batch, n prompts padded to a longest of s, L layers
//! and H query heads:
//!
//! ```text
//! decode(B, C) = host(B) + max(L floor, products(B', B) + C max(kv / bw, 4 L width / reread))
//! prompt(n, s) = host(n) + max(L floor, products(n s, n) + 2 L width sum(s^2) / attention)
//! host(B)      = step + B (sequence + sequence_layer_head L H)
//! ```
//!
//! B' is B, padded to a captured graph where the engine captures graphs. Products depend on how the
//! weights are stored; `kv` is the bytes of keys and values of a token, and `width` that of all
//! query heads. Decoding attention of vLLM 0.2.x reads keys and values again for each query head,
//! which is the second part of the maximum. Tensor parallelism divides products, attention and KV,
//! and adds two reductions per layer.

mod products;
mod reduction;

use std::time::Duration;

use crate::config::Resolved;
use products::Products;
use reduction::Reduction;

/// The work of one step: all that its cost depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StepShape {
    /// Prompts are computed.
    Prompt {
        /// Number of prompts.
        sequences: u32,
        /// Tokens of the longest; the others are padded to it.
        longest: u32,
        /// Sum of the squares of their lengths.
        squares: u64,
    },
    /// Every sequence gets a token.
    Decode {
        /// Number of sequences.
        sequences: u32,
        /// Tokens of all of them, those included whose keys and values this step makes.
        context: u64,
    },
}

/// The cost of steps of one model under one profile.
#[derive(Clone, Debug)]
pub struct CostModel {
    cuda_graphs: bool,
    step_s: f64,
    floor_s: f64,
    sequence_s: f64,
    context_token_s: f64,
    prompt_square_s: f64,
    products: Products,
    reduction: Reduction,
}

impl CostModel {
    /// The cost under a resolved configuration.
    #[must_use]
    pub fn new(config: &Resolved) -> Self {
        let (constants, card, model) = (&config.profile.constants, &config.card, &config.model);
        let cards = f64::from(config.tensor_parallel_size);
        let layers = f64::from(model.layers);
        let bandwidth = constants.bandwidth_efficiency * card.bandwidth_bytes_per_s;
        let reread = constants.kv_reread_efficiency * card.bandwidth_bytes_per_s;
        let width = model.attention_width() / cards;
        let kv_heads = f64::from(model.kv_heads.div_ceil(config.tensor_parallel_size));
        let kv_bytes = model.kv_bytes_per_token() * kv_heads / f64::from(model.kv_heads);
        let heads = f64::from(model.heads) / cards;
        let attention = constants.attention_efficiency * card.dense_flops_per_s;
        Self {
            cuda_graphs: config.profile.cuda_graphs,
            step_s: constants.step_us * 1e-6,
            floor_s: constants.layer_floor_us * 1e-6 * layers,
            sequence_s: constants.sequence_us * 1e-6
                + constants.sequence_layer_head_ns * 1e-9 * layers * heads,
            context_token_s: (kv_bytes / bandwidth).max(4.0 * layers * width / reread),
            prompt_square_s: 2.0 * layers * width / attention,
            products: Products::new(config),
            reduction: Reduction::new(config),
        }
    }

    /// Seconds that a step takes.
    #[must_use]
    pub fn seconds(&self, shape: StepShape) -> f64 {
        let (sequences, rows, attention_s) = match shape {
            StepShape::Decode { sequences, context } => {
                let rows = if self.cuda_graphs { captured(sequences) } else { sequences };
                (sequences, f64::from(rows), context as f64 * self.context_token_s)
            }
            StepShape::Prompt { sequences, longest, squares } => {
                let rows = f64::from(sequences) * f64::from(longest);
                (sequences, rows, squares as f64 * self.prompt_square_s)
            }
        };
        let sequences = f64::from(sequences);
        let host_s = self.step_s + sequences * self.sequence_s;
        let device_s =
            self.products.seconds(rows, sequences) + self.reduction.seconds(rows) + attention_s;
        host_s + device_s.max(self.floor_s)
    }

    /// The time that a step takes, in whole nanoseconds.
    #[must_use]
    pub fn duration(&self, shape: StepShape) -> Duration {
        Duration::from_nanos((self.seconds(shape) * 1e9).round() as u64)
    }
}

/// The batch size of the captured graph that a decode step of so many sequences runs in: 1, 2, 4
/// and the multiples of 8 up to 256 (`vllm/worker/model_runner.py`). Larger batches run as they
/// are.
fn captured(sequences: u32) -> u32 {
    match sequences {
        0..=2 | 257.. => sequences,
        3..=4 => 4,
        5..=256 => sequences.next_multiple_of(8),
    }
}

/// The 4-norm, a soft maximum. Roots of roots keep it exact to the bit on every machine.
fn norm4(a: f64, b: f64) -> f64 {
    let (a2, b2) = (a * a, b * b);
    (a2 * a2 + b2 * b2).sqrt().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::EngineConfig;

    fn cost(model: &str, change: impl FnOnce(&mut EngineConfig)) -> CostModel {
        let mut config = EngineConfig::of_model(model).unwrap();
        change(&mut config);
        CostModel::new(&config.resolve().unwrap())
    }

    fn decode(sequences: u32, context: u64) -> StepShape {
        StepShape::Decode { sequences, context }
    }

    fn prompt(sequences: u32, longest: u32) -> StepShape {
        let squares = u64::from(sequences) * u64::from(longest).pow(2);
        StepShape::Prompt { sequences, longest, squares }
    }

    #[test]
    fn more_work_never_costs_less() {
        for model in ["chatglm3-6b", "qwen-14b", "baichuan2-13b-gptq", "mistral-7b-openorca-awq"] {
            let cost = cost(model, |_| ());
            let rising = |shapes: &[StepShape]| {
                let seconds: Vec<_> = shapes.iter().map(|&shape| cost.seconds(shape)).collect();
                assert!(seconds.is_sorted() && seconds[0] > 0.0, "{model} {shapes:?} {seconds:?}");
            };
            rising(&[decode(1, 0), decode(1, 100), decode(2, 100), decode(2, 101)]);
            rising(&[prompt(1, 1), prompt(1, 100), prompt(2, 100), prompt(2, 1000)]);
        }
    }

    #[test]
    fn context_costs_what_keys_and_values_take_to_read() {
        let cost = cost("qwen-14b", |c| {
            c.profile.constants.bandwidth_efficiency = 0.5;
            c.profile.constants.kv_reread_efficiency = 1.0;
        });
        let million = cost.seconds(decode(1, 1_000_000)) - cost.seconds(decode(1, 0));
        assert!((million - 819_200.0 * 1e6 / (0.5 * 1.555e12)).abs() < 1e-9, "{million}");
    }

    #[test]
    fn few_key_heads_are_read_again_for_each_query_head() {
        let cost = cost("chatglm3-6b", |c| c.profile.constants.kv_reread_efficiency = 2.0);
        let million = cost.seconds(decode(1, 1_000_000)) - cost.seconds(decode(1, 0));
        assert!((million - 4.0 * 28.0 * 4096.0 * 1e6 / (2.0 * 1.555e12)).abs() < 1e-9, "{million}");
    }

    #[test]
    fn more_cards_make_large_steps_shorter_but_not_by_as_much() {
        let one = cost("qwen-14b", |_| ()).seconds(prompt(1, 2048));
        let two = cost("qwen-14b", |c| c.tensor_parallel_size = Some(2)).seconds(prompt(1, 2048));
        assert!(two < one && two > one / 2.0, "{two} of {one}");
    }

    #[test]
    fn batches_are_padded_to_the_captured_graphs() {
        for (batch, padded) in [(1, 1), (2, 2), (3, 4), (5, 8), (8, 8), (49, 56), (256, 256)] {
            assert_eq!(captured(batch), padded);
        }
        assert_eq!(captured(257), 257);
    }

    #[test]
    fn a_soft_maximum_lies_just_above_the_larger() {
        assert_eq!(norm4(3.0, 0.0), 3.0);
        assert!((norm4(1.0, 1.0) - 2_f64.powf(0.25)).abs() < 1e-15);
    }
}
