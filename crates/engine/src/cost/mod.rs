//! The cost of a step in seconds: the calibrated cost model and its terms. Nothing is scheduled here.
//!
//! There are two cost models. The cost model for vLLM 0.8 and later is in `v1` and is used for profiles with `steps`.
//! The older cost model is in this file and is used for the other profiles, most of which are of engines of 2023.
//!
//! B is the number of sequences, C the number of context tokens in the batch, and G the number of output
//! tokens among them. n is the number of prompts, p the length of a prompt, and s the length of the longest
//! prompt, to which all prompts are padded. r is the number of tokens that a mixed step computes, and S the
//! number of its sequences that get a token. A chunk of a prompt goes from token `begin` to token `end`. L is
//! the number of layers and H the number of query heads. The other names are constants of the profile
//! ([`crate::profile::Constants`]), or are explained below:
//!
//! ```text
//! decode(B, C, G) = host(B) + G output + max(L floor, products(B', B) + attention(B, C))
//! prompt(n, s)    = host(n) + max(L floor, products(n s, n) + 2 L width sum(p^2) / F)
//! mixed(B, r, C)  = host(B) + max(L floor, products(r, S) + C max(kv / bw, 4 L width / reread)
//!                                          + 2 L width sum(end^2 - begin^2) / F)
//! host(B)         = step + sqrt(B) batch_root + B sequence_layer_head L H
//! attention(B, C) = max(C kv / bw, C 4 L width / reread, L chain min(C / B, 512) if B H <= 512)
//! ```
//!
//! B' is B, padded to the batch size of a captured graph if the engine uses CUDA graphs. `products(x, y)` is the time
//! of matrix products for x tokens, and of the output projection and the sampler for y sequences. It depends on the
//! format of the weights. `kv` is the bytes of keys and values of a token, `bw` the memory bandwidth, and `width` the
//! width of all query heads. F is the throughput of dense products in operations per second.
//!
//! - `output`: in every step, the sampler of vLLM 0.2.6 and later creates nested lists and a tensor of all output
//!   tokens of the batch, on the host (`model_executor/sampling_metadata.py`).
//! - `reread`: the decode attention of vLLM 0.2.x reads keys and values again for each query head, with this number of
//!   bytes per second. If several heads share keys and values, the card's cache serves these reads.
//! - `chain`: if there are few sequences, they are split into parts of 512 tokens. One thread block reads a part token
//!   by token; `chain` is its time per token and layer. If the batch is too small to fill the card, the step waits for
//!   this thread block.
//!
//! Tensor parallelism divides H, products, attention and KV, and adds two reductions per layer. A step passes through
//! all pipeline stages in sequence, with a transfer from each stage to the next. In a mixture of experts, a step reads
//! the weights of every expert that at least one token is routed to.

mod shape;

mod decode;
mod products;
mod reduction;
mod v1;

use std::time::Duration;

use crate::ResolvedConfig;
pub(crate) use decode::DecodeCost;
use decode::{captured, nanoseconds};
use products::Products;
use reduction::Reduction;
pub use shape::StepShape;
use v1::V1Cost;

/// The number of tokens in a part of a sequence (`model_executor/layers/attention.py` of vLLM 0.2.x).
const PART_TOKENS: f64 = 512.0;
/// The maximum number of thread blocks (sequences x heads) for which vLLM 0.2.x splits sequences into parts.
const SPLIT_UP_TO: f64 = 512.0;

/// The cost of steps of one model under one profile.
#[derive(Clone, Debug)]
pub struct CostModel {
    cuda_graphs: bool,
    step_s: f64,
    floor_s: f64,
    batch_root_s: f64,
    sequence_s: f64,
    output_token_s: f64,
    context_token_s: f64,
    chain_token_s: f64,
    heads: f64,
    prompt_square_s: f64,
    products: Products,
    reduction: Reduction,
    /// The cost model for vLLM 0.8 and later. If present, it replaces all fields above.
    v1: Option<V1Cost>,
}

impl CostModel {
    /// The cost under a resolved configuration.
    pub fn new(config: &ResolvedConfig) -> Self {
        let (constants, card, model) = (&config.profile.constants, &config.card, &config.model);
        let cards = f64::from(config.tensor_parallel_size);
        let layers = f64::from(model.layers);
        let bandwidth = constants.bandwidth_efficiency * card.bandwidth_bytes_per_s;
        let reread = constants.kv_reread_efficiency * card.bandwidth_bytes_per_s;
        let width = model.attention_width() / cards;
        let kv_heads = f64::from(model.kv_heads.div_ceil(config.tensor_parallel_size));
        // Single-precision numbers have twice the bytes.
        let scale = config.weights.bytes_per_activation() / 2.0;
        let kv_bytes = model.kv_bytes_per_token() * kv_heads / f64::from(model.kv_heads) * scale;
        let heads = f64::from(model.heads) / cards;
        let flops = constants.dense_efficiency * config.flops_per_s();
        Self {
            cuda_graphs: config.profile.cuda_graphs,
            step_s: constants.step_us * 1e-6,
            floor_s: constants.layer_floor_us * 1e-6 * layers,
            batch_root_s: constants.batch_root_us * 1e-6,
            sequence_s: constants.sequence_layer_head_ns * 1e-9 * layers * heads,
            output_token_s: constants.output_token_ns * 1e-9,
            context_token_s: (kv_bytes / bandwidth).max(4.0 * layers * width * scale / reread),
            chain_token_s: constants.chain_token_ns * 1e-9 * layers,
            heads,
            prompt_square_s: 2.0 * layers * width / flops,
            products: Products::new(config),
            reduction: Reduction::new(config),
            v1: config.profile.steps.as_ref().map(|steps| V1Cost::new(config, steps)),
        }
    }

    /// The time of a step, in seconds.
    pub fn seconds(&self, shape: StepShape) -> f64 {
        if let Some(v1) = &self.v1 {
            return v1.seconds(shape);
        }
        match shape {
            StepShape::Decode { sequences, context, generated } => {
                self.decode(sequences).seconds(context as f64, generated as f64)
            }
            StepShape::Mixed { sequences, rows, sampled, context, squares, .. } => {
                let device_s = self.device(f64::from(rows), f64::from(sampled))
                    + context as f64 * self.context_token_s
                    + squares as f64 * self.prompt_square_s;
                self.host(f64::from(sequences)) + device_s.max(self.floor_s)
            }
            StepShape::Prompt { sequences, longest, squares } => {
                let rows = f64::from(sequences) * f64::from(longest);
                let sequences = f64::from(sequences);
                let device_s = self.device(rows, sequences) + squares as f64 * self.prompt_square_s;
                self.host(sequences) + device_s.max(self.floor_s)
            }
        }
    }

    /// The time of a step, in whole nanoseconds.
    pub fn duration(&self, shape: StepShape) -> Duration {
        Duration::from_nanos(nanoseconds(self.seconds(shape)))
    }

    /// The part of the time of a step in which the card computes at full power, in seconds; 0 without prompts, and on
    /// cards whose clock was not measured under load.
    pub(crate) fn computing_seconds(&self, shape: StepShape) -> f64 {
        let of_card = self.v1.as_ref().filter(|v1| v1.throttle_share > 0.0);
        of_card.map_or(0.0, |v1| v1.computing_seconds(shape))
    }

    /// How much longer the first step after a time without requests takes.
    pub(crate) fn waking(&self) -> Duration {
        self.v1.as_ref().map_or(Duration::ZERO, |v1| Duration::from_nanos(nanoseconds(v1.waking_s)))
    }

    /// How much longer computing takes on a hot card than on a cold one, as a share.
    pub(crate) fn throttle_share(&self) -> f64 {
        self.v1.as_ref().map_or(0.0, |v1| v1.throttle_share)
    }

    /// The cost of decode steps of `sequences` sequences, as a function of their context.
    pub(crate) fn decode(&self, sequences: u32) -> DecodeCost {
        if let Some(v1) = &self.v1 {
            return v1.decode(sequences);
        }
        let rows = if self.cuda_graphs { captured(sequences) } else { sequences };
        let sequences = f64::from(sequences);
        let split = sequences * self.heads <= SPLIT_UP_TO;
        let chain_token_s = if split { self.chain_token_s } else { 0.0 };
        DecodeCost {
            sequences,
            host_s: self.host(sequences),
            products_s: self.device(f64::from(rows), sequences),
            floor_s: self.floor_s,
            output_token_s: self.output_token_s,
            context_token_s: self.context_token_s,
            chain_context_token_s: chain_token_s / sequences,
            chain_most_s: chain_token_s * PART_TOKENS,
        }
    }

    fn host(&self, sequences: f64) -> f64 {
        self.step_s + sequences.sqrt() * self.batch_root_s + sequences * self.sequence_s
    }

    fn device(&self, rows: f64, sampled: f64) -> f64 {
        self.products.seconds(rows, sampled) + self.reduction.seconds(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Dtype, EngineConfig};
    use crate::weights::Weights;

    impl CostModel {
        fn products_of(&self, (rows, sampled): (f64, f64)) -> f64 {
            self.products.seconds(rows, sampled)
        }
    }

    fn cost(model: &str, change: impl FnOnce(&mut EngineConfig)) -> CostModel {
        let mut config = EngineConfig::of_model(model).unwrap();
        change(&mut config);
        CostModel::new(&config.resolve().unwrap())
    }

    fn decode(sequences: u32, context: u64) -> StepShape {
        StepShape::Decode { sequences, context, generated: 0 }
    }

    fn prompt(sequences: u32, longest: u32) -> StepShape {
        let squares = u64::from(sequences) * u64::from(longest).pow(2);
        StepShape::Prompt { sequences, longest, squares }
    }

    #[test]
    fn a_step_with_more_work_never_takes_less_time() {
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
    fn context_adds_the_time_to_read_its_keys_and_values() {
        let cost = cost("qwen-14b", |c| {
            c.profile.constants.bandwidth_efficiency = 0.5;
            c.profile.constants.kv_reread_efficiency = 1.0;
        });
        let million = cost.seconds(decode(1, 1_000_000)) - cost.seconds(decode(1, 0));
        assert!((million - 819_200.0 * 1e6 / (0.5 * 1.555e12)).abs() < 1e-9, "{million}");
    }

    #[test]
    fn shared_key_value_heads_are_read_again_for_each_query_head() {
        let cost = cost("chatglm3-6b", |c| c.profile.constants.kv_reread_efficiency = 2.0);
        let million = cost.seconds(decode(1, 1_000_000)) - cost.seconds(decode(1, 0));
        assert!((million - 4.0 * 28.0 * 4096.0 * 1e6 / (2.0 * 1.555e12)).abs() < 1e-9, "{million}");
    }

    #[test]
    fn two_cards_shorten_a_large_step_but_not_to_half() {
        let one = cost("qwen-14b", |_| ()).seconds(prompt(1, 2048));
        let two = cost("qwen-14b", |c| c.tensor_parallel_size = Some(2)).seconds(prompt(1, 2048));
        assert!(two < one && two > one / 2.0, "{two} of {one}");
    }

    #[test]
    fn single_precision_doubles_the_bytes_read_and_computes_16_times_slower() {
        let float32 = |c: &mut EngineConfig| c.dtype = Some(Dtype::Float32);
        let (half, single) = (cost("qwen-14b", |_| ()), cost("qwen-14b", float32));
        let ratio = |shape| single.products_of(shape) / half.products_of(shape);
        assert!((ratio((1.0, 1.0)) - 2.0).abs() < 0.05, "{}", ratio((1.0, 1.0)));
        assert!((ratio((2048.0, 1.0)) - 16.0).abs() < 1.0, "{}", ratio((2048.0, 1.0)));
        let million = |cost: &CostModel| {
            cost.seconds(decode(1, 2_000_000)) - cost.seconds(decode(1, 1_000_000))
        };
        assert!((million(&single) / million(&half) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn squeezellm_steps_take_slightly_less_time_than_gptq_steps() {
        let of = |weights| cost("baichuan2-13b-gptq", |c| c.weights = Some(weights));
        let (gptq, squeeze) = (of(Weights::Gptq), of(Weights::SqueezeLlm));
        for shape in [decode(1, 0), decode(64, 0), prompt(1, 512)] {
            let ratio = squeeze.seconds(shape) / gptq.seconds(shape);
            assert!(ratio < 1.0 && ratio > 0.95, "{shape:?}: {ratio}");
        }
    }

    #[test]
    fn pipeline_stages_add_only_the_time_of_transfers_between_them() {
        let of = |stages| cost("qwen-14b", |c| c.pipeline_parallel_size = Some(stages));
        let (one, two, four) = (of(1), of(2), of(4));
        for (shape, rows) in [(decode(3, 1000), 4.0), (prompt(2, 512), 1024.0)] {
            let added = two.seconds(shape) - one.seconds(shape);
            // A row has 5,120 numbers of two bytes; the link transfers 3.15e10 x 0.3 bytes per second; a reduction
            // takes 25 us.
            let expected = 25e-6 + rows * 10_240.0 / 9.45e9;
            assert!((added / expected - 1.0).abs() < 1e-6, "{added} {expected}");
            let more = four.seconds(shape) - one.seconds(shape);
            assert!((more / added - 3.0).abs() < 1e-6);
        }
    }

    #[test]
    fn only_experts_that_tokens_use_are_read_from_memory() {
        for model in ["mixtral-8x7b", "qwen3-30b-a3b"] {
            let cost = cost(model, |_| ());
            let seconds: Vec<f64> = [1, 2, 8, 32, 256].map(|n| cost.seconds(decode(n, 0))).to_vec();
            assert!(seconds.is_sorted(), "{seconds:?}");
            let mut dense = crate::model::model(model).unwrap();
            // A model without experts that has the same work per token, with only the used weights in memory.
            let experts = dense.experts.take().unwrap();
            dense.intermediate = experts.per_token * experts.intermediate;
            let config = EngineConfig::of_model(model).unwrap();
            let alike = EngineConfig { model: dense, ..config };
            let alike = CostModel::new(&alike.resolve().unwrap());
            // Apart from the router's few parameters, one token has the same cost in both models. With 32 tokens, the
            // mixture costs more than twice as much, because it reads more experts.
            let near = cost.products_of((1.0, 1.0)) / alike.products_of((1.0, 1.0));
            assert!((near - 1.0).abs() < 0.01, "{near}");
            let wide = cost.products_of((32.0, 32.0)) / alike.products_of((32.0, 32.0));
            assert!(wide > 2.0, "{wide}");
        }
    }

    #[test]
    fn output_tokens_add_host_time_that_prompt_tokens_do_not_add() {
        let cost = cost("qwen-14b", |c| c.profile.constants.output_token_ns = 100.0);
        let seconds =
            |generated| cost.seconds(StepShape::Decode { sequences: 4, context: 4000, generated });
        assert!((seconds(3000) - seconds(0) - 3e-4).abs() < 1e-12);
    }

    #[test]
    fn attention_time_of_few_sequences_grows_only_up_to_one_part_of_their_context() {
        let cost = cost("chatglm3-6b", |c| c.profile.constants.chain_token_ns = 1000.0);
        let seconds = |context| cost.seconds(decode(1, context));
        assert!((seconds(400) - seconds(300) - 28.0 * 100.0 * 1e-6).abs() < 1e-9);
        assert_eq!(seconds(512), seconds(1024));
        // With 17 sequences of 32 heads, sequences are not split into parts.
        let many = |context| cost.seconds(decode(17, context));
        assert!(many(400) - many(300) < 1e-4);
    }
}
