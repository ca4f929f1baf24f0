//! The cost of a step of vLLM 0.8 and later, in seconds. It is composed of single operations that were measured on the
//! card (`data/cards`), and of a few constants ([`StepConstants`]). If an operation was not measured on the card, its
//! speed is estimated from the data sheet. The formula leaves out the constants that are factors on these speeds.
//!
//! R is the number of rows (tokens that are computed), B the number of sequences, and C the tokens of context that
//! decoding reads. n is the number of prompts or chunks of prompts, each from token `begin` to `end`; S is the number
//! of sampled tokens and L the number of layers:
//!
//! ```text
//! step = host + L (layer + attention + B sequence_layer + n prompt_layer) + products(R) + head(S)
//!      + C kv / (bw kv_share) + R moved / bw + 2 L width sum(end^2 - begin^2) / F + S sampler / bw
//!      + 2 L (empty + R hidden element) reduction
//! host = step + B sequence, and prompt_step where n > 0
//! ```
//!
//! - `attention`: the latency of the kernels of decode attention, measured on the card, or a typical value.
//! - `products(R)`: the card's measured curve of time per parameter by rows. With few rows, reading the weights limits
//!   the speed; with many rows, multiplying does. In a mixture of experts, each expert that at least one token is
//!   routed to has its own product, with the rows of its tokens.
//! - `head(S)`: the card's curve for sixteen-bit weights, for the output projection.
//! - `moved`: the bytes that one row moves in all layers, in normalisation, rotation, activation functions and the
//!   write of keys and values. This number is counted, not fitted. For each layer, it is 8 times the hidden width, 4
//!   times the width of the query heads, 6 times the width of the key heads and 3 times the intermediate width, each
//!   times the bytes of an activation.
//! - `sampler`: the bytes of eight passes over a row of single-precision logits. This number is counted, not fitted.
//! - `bw`: in the term with `kv_share`, the memory bandwidth of the data sheet; in other terms, the measured rate of
//!   reading weights. `kv` is the bytes of keys and values of a token, and F the measured throughput of the attention
//!   of prompts.
//!
//! A layer with sliding-window attention reads at most its window of the context. So if a model has such layers, C and
//! the sum over chunks are means over all layers.
//!
//! Tensor parallelism divides products, attention and KV, and adds two reductions per layer. Pipeline stages add their
//! transfers.

use super::decode::DecodeCost;
use super::shape::StepShape;
use crate::card::{DECODE_ATTENTION_US, Operations, through};
use crate::model::Experts;
use crate::model::layout::{Layer, Layout, Module, Role, Routed};
use crate::profile::StepConstants;
use crate::reach::Reach;
use crate::{ResolvedConfig, Weights};

/// Bytes per logit: eight passes of the sampler over four bytes.
const SAMPLER_BYTES_PER_LOGIT: f64 = 8.0 * 4.0;
/// The numbers of rows for which the curve is estimated if the products were not measured on the card.
const ROWS: [f64; 11] = [1.0, 8.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0, 8192.0];
/// The shares of the data sheet's speeds that cards typically reach. They were measured on other cards, and are used
/// for operations that were not measured on the card. In order: weight reads, matrix products, weight reads with eight
/// bits, matrix products with eight bits, reads of keys and values, attention of prompts.
const STREAM_SHARE: f64 = 0.74;
const PRODUCTS_SHARE: f64 = 0.78;
const FP8_STREAM_SHARE: f64 = 0.65;
const FP8_PRODUCTS_SHARE: f64 = 0.52;
const KV_SHARE: f64 = 0.87;
const ATTENTION_SHARE: f64 = 0.62;
/// The exponent of the norm that combines reading and multiplying; it approximates the measured curves.
const BEND: f64 = 3.0;
/// Between these numbers of rows, the factor on the speed changes from `bandwidth_factor` to `products_factor`. The
/// logarithm of the factor is linear in the logarithm of the number of rows.
const TURN: (f64, f64) = (256.0, 1024.0);

/// The cost of steps of one model under one profile with step constants.
#[derive(Clone, Debug)]
pub(super) struct V1Cost {
    /// How much longer computing takes on a hot card, as a share.
    pub throttle_share: f64,
    /// The additional time of the first step after a time without requests.
    pub waking_s: f64,
    /// The part of the time that is the same for all steps.
    step_s: f64,
    sequence_s: f64,
    prompt_step_s: f64,
    prompt_s: f64,
    row_s: f64,
    sampled_s: f64,
    context_token_s: f64,
    square_s: f64,
    products: Products,
}

/// Matrix products of the layers and of the output projection.
#[derive(Clone, Debug)]
struct Products {
    groups: Vec<Group>,
    head_points: Vec<(f64, f64)>,
    head: f64,
}

/// Matrices with the same format on one card.
#[derive(Clone, Debug)]
struct Group {
    /// The time per parameter by rows.
    points: Vec<(f64, f64)>,
    /// The number of parameters; of experts: of one expert in each layer with experts.
    parameters: f64,
    /// How many experts there are, if a router chooses among the matrices.
    routed: Option<Routed>,
}

impl V1Cost {
    pub(super) fn new(config: &ResolvedConfig, constants: &StepConstants) -> Self {
        let (card, model) = (&config.card, &config.model);
        let cards = f64::from(config.tensor_parallel_size);
        let layers = f64::from(model.layers);
        let operations = card.operations.as_ref();
        let numbers = config.weights.bytes_per_activation();
        let query = model.attention_width() / cards;
        let kv_heads = f64::from(model.kv_heads.div_ceil(config.tensor_parallel_size));
        let kv = kv_heads * f64::from(model.head_dim);
        let hidden = f64::from(model.hidden);
        let streamed = operations.map_or(STREAM_SHARE * card.bandwidth_bytes_per_s, |it| {
            it.bf16.streamed_tb_per_s() * 1e12
        }) * constants.bandwidth_factor;
        let kv_share = operations.map_or(KV_SHARE, |it| it.kv_bandwidth_share);
        let kv_bandwidth = kv_share * constants.kv_factor * card.bandwidth_bytes_per_s;
        let attention = operations.map_or(ATTENTION_SHARE * card.dense_flops_per_s, |it| {
            it.prompt_attention_tflops * 1e12
        }) * constants.products_factor;
        // In a mixture of experts, a token passes through the experts that it is routed to, and the shared experts.
        let passed = model.experts.map_or(model.intermediate, |experts| {
            (experts.per_token + experts.shared) * experts.intermediate
        });
        let moved = 8.0 * hidden + (4.0 * query + 6.0 * kv + 3.0 * f64::from(passed) / cards);
        let own = model.layout.as_ref().map(|layout| OfLayout::new(config, layout));
        let moved = own.as_ref().map_or(layers * moved, |own| own.moved);
        let attention_us = operations.map_or(DECODE_ATTENTION_US, |it| it.decode_attention_us);
        let (reduction_s, reduction_row_s) = reduction(config, constants);
        let (stages_s, stages_row_s) = stages(config);
        let us = 1e-6;
        // With a sliding window, the tokens that attention reads are summed over layers.
        let counted = Reach::of(config).layers() as f64;
        Self {
            throttle_share: operations.map_or(0.0, |it| it.throttle_share),
            waking_s: constants.waking_us * 1e-6,
            step_s: constants.step_us * us
                + layers * (constants.layer_us + attention_us) * us
                + reduction_s
                + stages_s,
            sequence_s: (constants.sequence_us + layers * constants.sequence_layer_us) * us
                + own.as_ref().map_or(0.0, |own| 2.0 * own.state / streamed),
            prompt_step_s: constants.prompt_step_us * us,
            prompt_s: layers * constants.prompt_layer_us * us,
            row_s: moved * numbers / streamed
                + reduction_row_s
                + stages_row_s
                + own.as_ref().map_or(0.0, |own| own.operations / attention),
            // Every card samples from the complete logits, which are gathered from all cards.
            sampled_s: f64::from(model.vocabulary) * SAMPLER_BYTES_PER_LOGIT / streamed,
            context_token_s: match Reach::units(config) {
                // A step that decodes is slowed down by reading, or by multiplying.
                Some((bytes, _)) => {
                    bytes
                        * own.as_ref().map_or(0.0, |own| {
                            (1.0 / kv_bandwidth).max(own.operations_per_byte / attention)
                        })
                }
                None => layers * 2.0 * kv * config.kv_bytes_per_number / kv_bandwidth / counted,
            },
            square_s: match Reach::units(config) {
                Some((_, operations)) => operations / 2.0 / attention,
                None => 2.0 * layers * query / attention / counted,
            },
            products: Products {
                groups: groups(config, constants),
                // Single-precision numbers have twice the bytes.
                head: model.head_parameters() / cards * numbers / 2.0,
                head_points: products(config, constants, Weights::Fp16),
            },
        }
    }

    pub(super) fn seconds(&self, shape: StepShape) -> f64 {
        match shape {
            StepShape::Decode { sequences, context, .. } => {
                self.fixed(sequences, sequences, sequences) + context as f64 * self.context_token_s
            }
            StepShape::Mixed { sequences, prompts, rows, sampled, context, squares } => {
                let of_prompts = if prompts == 0 { 0.0 } else { self.prompt_step_s };
                self.fixed(sequences, rows, sampled)
                    + of_prompts
                    + f64::from(prompts) * self.prompt_s
                    + context as f64 * self.context_token_s
                    + squares as f64 * self.square_s
            }
            StepShape::Prompt { sequences, longest, squares } => {
                self.fixed(sequences, sequences * longest, sequences)
                    + self.prompt_step_s
                    + f64::from(sequences) * self.prompt_s
                    + squares as f64 * self.square_s
            }
        }
    }

    /// The part of the time of a step with prompts in which the card computes at full power, in seconds.
    pub(super) fn computing_seconds(&self, shape: StepShape) -> f64 {
        let StepShape::Mixed { prompts: 1.., rows, squares, .. } = shape else { return 0.0 };
        let rows = f64::from(rows);
        turned(rows) * self.products.seconds(rows) + squares as f64 * self.square_s
    }

    /// The cost of decode steps of `sequences` sequences, as a function of their context.
    pub(super) fn decode(&self, sequences: u32) -> DecodeCost {
        DecodeCost {
            sequences: f64::from(sequences),
            host_s: self.fixed(sequences, sequences, sequences),
            products_s: 0.0,
            floor_s: 0.0,
            output_token_s: 0.0,
            context_token_s: self.context_token_s,
            chain_context_token_s: 0.0,
            chain_most_s: 0.0,
        }
    }

    fn fixed(&self, sequences: u32, rows: u32, sampled: u32) -> f64 {
        self.step_s
            + f64::from(sequences) * self.sequence_s
            + self.products.seconds(f64::from(rows))
            + self.products.head_seconds(f64::from(sampled))
            + f64::from(rows) * self.row_s
            + f64::from(sampled) * self.sampled_s
    }
}

impl Group {
    fn seconds(&self, rows: f64) -> f64 {
        let Some(routed) = self.routed else {
            return self.parameters * through(&self.points, rows);
        };
        // Each expert multiplies only the rows that are routed to it.
        let touched = routed.distinct(rows);
        let own = (rows * f64::from(routed.per_token) / touched).max(1.0);
        touched * self.parameters * through(&self.points, own)
    }
}

/// The matrices of the layers on one card, by format.
fn groups(config: &ResolvedConfig, constants: &StepConstants) -> Vec<Group> {
    let (model, cards) = (&config.model, f64::from(config.tensor_parallel_size));
    let Some(layout) = &model.layout else {
        let points = products(config, constants, config.weights);
        let shared = Group {
            points: points.clone(),
            parameters: model.shared_parameters() / cards,
            routed: None,
        };
        let Some(Experts { count, per_token, .. }) = model.experts else { return vec![shared] };
        let parameters = model.expert_parameters() / cards;
        return vec![
            shared,
            Group { points, parameters, routed: Some(Routed { count, per_token }) },
        ];
    };
    let mut groups: Vec<(Weights, Group)> = Vec::new();
    let multiplied = |it: &&Module| matches!(it.role, Role::Product | Role::Plain);
    for module in layout.loaded().filter(multiplied) {
        let is_own = config.weights == model.weights || module.role == Role::Plain;
        let weights = if is_own { module.weights } else { config.weights };
        let (count, split) = (
            module.routed.map_or(1.0, |it| f64::from(it.count)),
            if module.is_split { cards } else { 1.0 },
        );
        let (parameters, routed) = (module.parameters as f64 / count / split, module.routed);
        let is_same =
            |known: &&mut (Weights, Group)| known.0 == weights && known.1.routed == routed;
        match groups.iter_mut().find(is_same) {
            Some((_, group)) => group.parameters += parameters,
            None => {
                let points = products(config, constants, weights);
                groups.push((weights, Group { points, parameters, routed }));
            }
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// What a row and a sequence cost on one card in a model with a layout, in addition to products and attention.
struct OfLayout {
    /// The numbers that one row moves in all layers.
    moved: f64,
    /// The operations of recurrent layers for one row.
    operations: f64,
    /// The bytes of the states of a sequence, which a step reads and writes.
    state: f64,
    /// The operations of attention for each byte of the cache that a decode step reads.
    operations_per_byte: f64,
}

impl OfLayout {
    fn new(config: &ResolvedConfig, layout: &Layout) -> Self {
        let cards = config.tensor_parallel_size;
        let hidden = f64::from(config.model.hidden);
        let of = |layer: &Layer| {
            let (query, kv) = layer.attention.widths(cards);
            let passed = f64::from(layer.feed.passed()) / f64::from(cards);
            8.0 * hidden + (4.0 * query + 6.0 * kv + 3.0 * passed)
        };
        let parts = layout.reads(config.kv_bytes_per_number, cards);
        let bytes: f64 = parts.iter().map(|part| part.per_token).sum();
        let decoding: f64 = layout.layers.iter().map(|it| it.attention.decoding(cards)).sum();
        Self {
            operations_per_byte: if bytes > 0.0 { decoding / bytes } else { 0.0 },
            moved: layout.layers.iter().map(of).sum(),
            operations: layout.layers.iter().map(|it| it.attention.operations(cards)).sum(),
            state: layout.kept(config.kv_bytes_per_number, cards).state,
        }
    }
}

impl Products {
    fn seconds(&self, rows: f64) -> f64 {
        self.groups.iter().map(|group| group.seconds(rows)).sum()
    }

    /// The time of the output projection for `sampled` rows, in seconds.
    fn head_seconds(&self, sampled: f64) -> f64 {
        self.head * through(&self.head_points, sampled)
    }
}

/// The time per parameter of these weights, as (rows, seconds), with the factors of the constants.
fn products(
    config: &ResolvedConfig,
    constants: &StepConstants,
    weights: Weights,
) -> Vec<(f64, f64)> {
    let eight = if weights == Weights::Fp8 { constants.fp8_factor } else { 1.0 };
    let measured = |operations: &Operations| match weights {
        Weights::Fp16 => Some(operations.bf16.points(2.0)),
        Weights::Fp8 => Some(operations.fp8.as_ref()?.points(1.0)),
        _ => None,
    };
    let measured = config.card.operations.as_ref().and_then(measured);
    let points = measured.unwrap_or_else(|| of_data_sheet(config, weights).to_vec());
    let factor = |rows: f64| {
        let share = turned(rows);
        constants.bandwidth_factor.powf(1.0 - share) * constants.products_factor.powf(share) * eight
    };
    points.into_iter().map(|(rows, seconds)| (rows, seconds / factor(rows))).collect()
}

/// The position of a number of rows between reading and multiplying ([`TURN`]), from 0 to 1.
fn turned(rows: f64) -> f64 {
    ((rows / TURN.0).ln() / (TURN.1 / TURN.0).ln()).clamp(0.0, 1.0)
}

/// The time per parameter of these weights, as (rows, seconds), from the card's data sheet and without factors. It is
/// for cards on which products with these weights were not measured.
fn of_data_sheet(config: &ResolvedConfig, weights: Weights) -> [(f64, f64); 11] {
    let card = &config.card;
    let (stream_share, share, flops) = match (weights, card.fp8_flops_per_s) {
        (Weights::Fp8, Some(flops)) => (FP8_STREAM_SHARE, FP8_PRODUCTS_SHARE, flops),
        (Weights::Fp8, None) => (FP8_STREAM_SHARE, PRODUCTS_SHARE, card.dense_flops_per_s),
        // Cards since Blackwell multiply four-bit floats with activations of at most eight bits, at least as fast as
        // eight-bit floats. Older cards multiply them as weights of sixteen bits.
        (Weights::Nvfp4 | Weights::Mxfp4, Some(flops)) if card.capability >= (10, 0) => {
            (FP8_STREAM_SHARE, FP8_PRODUCTS_SHARE, flops)
        }
        _ => (STREAM_SHARE, PRODUCTS_SHARE, config.flops_per_s()),
    };
    let read = weights.bytes_per_parameter() / (stream_share * card.bandwidth_bytes_per_s);
    ROWS.map(|rows| {
        let work = 2.0 * rows / (share * flops);
        (rows, (read.powf(BEND) + work.powf(BEND)).powf(1.0 / BEND))
    })
}

/// The time of two reductions per layer over tensor-parallel cards, in seconds: for a step without rows, and per row.
fn reduction(config: &ResolvedConfig, constants: &StepConstants) -> (f64, f64) {
    let card = &config.card;
    if config.tensor_parallel_size == 1 {
        return (0.0, 0.0);
    }
    let cards = f64::from(config.tensor_parallel_size);
    let hidden = f64::from(config.model.hidden);
    let (empty_s, element_s) =
        card.operations.as_ref().and_then(|it| it.reduction(cards)).unwrap_or_else(|| {
            // In a ring, each byte is sent 2 (n - 1) / n times.
            let bytes = config.weights.bytes_per_activation() * 2.0 * (cards - 1.0) / cards;
            (card.link_latency_us * 1e-6, bytes / card.link_bytes_per_s)
        });
    let count = 2.0 * f64::from(config.model.layers) * constants.reduction_factor;
    (count * empty_s, count * hidden * element_s)
}

/// The time of transfers between pipeline stages, in seconds: for a step without rows, and per row.
fn stages(config: &ResolvedConfig) -> (f64, f64) {
    let transfers = f64::from(config.pipeline_parallel_size - 1);
    let bytes = f64::from(config.model.hidden) * config.weights.bytes_per_activation();
    let card = &config.card;
    (transfers * card.link_latency_us * 1e-6, transfers * bytes / card.link_bytes_per_s)
}
