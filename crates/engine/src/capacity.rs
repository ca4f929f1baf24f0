//! The use of a card's memory, and the number of KV blocks that fit in addition to weights and activations. vLLM
//! measures the activations in a profiling run.

use crate::kv::WindowShare;
use crate::model::layout::{Layout, Module, Role};
use crate::{EngineError, ResolvedConfig, Weights};

/// Gigabytes (10^9 bytes) in a byte.
const GB: f64 = 1e-9;

/// The use of the memory of one card: the card with the most weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    /// The total memory in bytes, as the driver reports it.
    pub card_bytes: f64,
    /// The memory that the engine may use, in bytes.
    pub usable_bytes: f64,
    /// The weights, in bytes.
    pub weight_bytes: f64,
    /// The peak memory of a prompt step of `max_num_batched_tokens` tokens, in bytes, without weights and KV blocks:
    /// activations and a fixed amount.
    pub activation_bytes: f64,
    /// The keys and values of one token on this card, in bytes.
    pub token_bytes: f64,
    /// The number of tokens in a KV block.
    pub block_size: u32,
    /// The number of KV blocks; 0 if not even one fits.
    pub kv_blocks: u32,
    /// The layers with sliding-window attention, if they keep only their window.
    windows: Option<WindowShare>,
    /// The maximum tokens of a sequence, and of a step.
    limits: (u32, u32),
}

impl Memory {
    /// Computes the use of memory by an engine with this configuration.
    ///
    /// The number of blocks is `floor((usable - weights - activations) / block)`.
    pub fn of(config: &ResolvedConfig) -> Self {
        Self::of_ranks(config, 1)
    }

    /// The same for one card of `ranks` data-parallel ranks with expert parallelism, each of them on as many cards as
    /// the configuration has: routed experts are split over the cards of all ranks, and everything else, with keys and
    /// values, over those of one rank (`vllm/model_executor/layers/fused_moe/config.py`).
    pub fn of_ranks(config: &ResolvedConfig, ranks: u32) -> Self {
        let card_bytes = config.card.memory_bytes as f64;
        let usable_bytes = card_bytes * config.gpu_memory_utilization;
        let (weight_bytes, activation_bytes) =
            (weight_bytes(config, ranks), activation_bytes(config));
        let block = block_bytes(config);
        Self {
            card_bytes,
            usable_bytes,
            weight_bytes,
            activation_bytes,
            token_bytes: block / f64::from(config.block_size),
            block_size: config.block_size,
            kv_blocks: ((usable_bytes - weight_bytes - activation_bytes) / block).max(0.0) as u32,
            windows: WindowShare::of(config),
            limits: (config.limits.max_model_len, config.limits.max_num_batched_tokens),
        }
    }

    /// The number of tokens whose keys and values fit, if no sequence is longer than a sliding window.
    pub fn kv_tokens(&self) -> u64 {
        u64::from(self.kv_blocks) * u64::from(self.block_size)
    }

    /// The number of sequences of `tokens` tokens each whose keys and values fit at once, while they decode.
    pub fn sequences(&self, tokens: u32) -> u32 {
        self.kv_blocks / self.blocks(tokens, 1).max(1)
    }

    /// The number of tokens of the longest sequence whose keys and values fit, at most 2^32 - 1. With a sliding window,
    /// the result is at most `max_model_len`.
    pub fn longest_sequence(&self) -> u32 {
        if self.windows.is_none() {
            return self.kv_blocks.saturating_mul(self.block_size);
        }
        let (longest, step) = self.limits;
        let fits = |tokens: u32| self.blocks(tokens, tokens.min(step)) <= self.kv_blocks;
        let (mut low, mut high) = (0, longest);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if fits(middle) { low = middle } else { high = middle - 1 }
        }
        low
    }

    /// The blocks of a sequence of `tokens` tokens, in a step that computes `scheduled` of them.
    fn blocks(&self, tokens: u32, scheduled: u32) -> u32 {
        let whole = tokens.div_ceil(self.block_size);
        self.windows.map_or(whole, |it| it.blocks(whole, scheduled, self.block_size))
    }
}

/// Returns the number of KV blocks of an engine. All of its cards have the same number.
///
/// # Errors
/// If not even one block fits. The error states whether the weights alone do not fit.
pub fn kv_blocks(config: &ResolvedConfig) -> Result<u32, EngineError> {
    let memory = Memory::of(config);
    if memory.weight_bytes >= memory.usable_bytes {
        return Err(EngineError::WeightsTooLarge {
            model: config.model.name.clone(),
            card: config.card.name.clone(),
            weights_gb: memory.weight_bytes * GB,
            usable_gb: memory.usable_bytes * GB,
            fit_the_card: memory.weight_bytes < memory.card_bytes,
        });
    }
    if memory.kv_blocks == 0 {
        return Err(EngineError::NoKvMemory {
            model: config.model.name.clone(),
            card: config.card.name.clone(),
            needed_gb: (memory.weight_bytes + memory.activation_bytes) * GB,
            usable_gb: memory.usable_bytes * GB,
        });
    }
    Ok(memory.kv_blocks)
}

fn block_bytes(config: &ResolvedConfig) -> f64 {
    if let Some(kept) = config.kept() {
        return f64::from(config.block_size) * (kept.whole + kept.windowed);
    }
    let cards = config.tensor_parallel_size;
    // If the number of key and value heads is not a multiple of the number of cards, heads are replicated.
    let share = f64::from(config.model.kv_heads.div_ceil(cards)) / f64::from(config.model.kv_heads);
    // Groups of layers of equal size may have memory for more layers than the model has.
    let padded = WindowShare::of(config)
        .map_or(1.0, |it| f64::from(it.layers()) / f64::from(config.model.layers));
    let layers = share_of_layers(config) * padded * config.kv_bytes_per_number / 2.0;
    f64::from(config.block_size) * config.model.kv_bytes_per_token() * share * layers
}

/// The share of the layers in the pipeline stage with the most layers.
fn share_of_layers(config: &ResolvedConfig) -> f64 {
    let layers = config.model.layers;
    f64::from(layers.div_ceil(config.pipeline_parallel_size)) / f64::from(layers)
}

/// The bytes of the weights on the card with the most weights. With several pipeline stages, the first stage has the
/// input embedding, and the last stage has the output projection.
fn weight_bytes(config: &ResolvedConfig, ranks: u32) -> f64 {
    let (model, weights) = (&config.model, config.weights);
    if let Some(layout) = &model.layout {
        return layout_bytes(config, layout, ranks);
    }
    let bytes = if config.pipeline_parallel_size == 1 {
        model.weight_bytes(weights)
    } else {
        model.linear_parameters() * weights.bytes_per_parameter() * share_of_layers(config)
            + model.head_parameters() * weights.bytes_per_activation()
    };
    let experts = model.linear_parameters() - model.shared_parameters();
    let elsewhere = experts * (1.0 - 1.0 / f64::from(ranks));
    let elsewhere = elsewhere * weights.bytes_per_parameter() * share_of_layers(config);
    (bytes - elsewhere) / f64::from(config.tensor_parallel_size)
}

/// The bytes of the weights of a model with a layout. Each tensor-parallel card has all of the modules that are not split.
fn layout_bytes(config: &ResolvedConfig, layout: &Layout, ranks: u32) -> f64 {
    let cards = f64::from(config.tensor_parallel_size);
    let other = (config.weights != config.model.weights).then_some(config.weights);
    let on_card = |module: &Module| {
        let ranks = module.routed.map_or(1.0, |_| f64::from(ranks));
        module.bytes_as(other) / if module.is_split { cards * ranks } else { 1.0 }
    };
    let sum = |is_counted: fn(Role) -> bool| -> f64 {
        layout.loaded().filter(|module| is_counted(module.role)).map(on_card).sum()
    };
    let first = sum(|role| matches!(role, Role::Table | Role::Vision));
    let last = sum(|role| role == Role::Head);
    let layers = sum(|role| !matches!(role, Role::Table | Role::Vision | Role::Head));
    match config.pipeline_parallel_size {
        1 => first + layers + last,
        _ => layers * share_of_layers(config) + first.max(last),
    }
}

/// The peak memory of the profiling run in bytes, without weights.
fn activation_bytes(config: &ResolvedConfig) -> f64 {
    let cards = f64::from(config.tensor_parallel_size);
    let constants = &config.profile.constants;
    let tokens = f64::from(config.limits.max_num_batched_tokens);
    let width = config.weights.bytes_per_activation() / 2.0;
    let activations = constants.activation_bytes_per_token_hidden
        * tokens
        * f64::from(config.model.hidden)
        * width;
    let peak = if config.has_fitted_memory() { 0.0 } else { peak_bytes(config) };
    constants.activation_fixed_bytes + activations + peak + split_k_bytes(config, tokens) / cards
}

/// Bytes of a logit of the sampler: in the type of activations, and in single precision (`vllm/v1/sample/sampler.py`).
const LOGIT_BYTES: f64 = 2.0 + 4.0;

/// The peak bytes of activations of a model whose memory no measured row states: those of the widest layer, or those of
/// the logits of all sequences, whichever are more.
fn peak_bytes(config: &ResolvedConfig) -> f64 {
    let tokens = f64::from(config.limits.max_num_batched_tokens);
    let numbers = config.model.numbers_at_once(config.tensor_parallel_size);
    let layers = tokens * numbers * config.weights.bytes_per_activation();
    let logits = f64::from(config.limits.max_num_seqs) * f64::from(config.model.vocabulary);
    layers.max(logits * LOGIT_BYTES)
}

/// The peak bytes of partial outputs of the AWQ kernel; 0 for other weights. The kernel splits a product into parts,
/// writes one output per part, and then adds the outputs. The widest product determines the peak: gate and up
/// projection together.
fn split_k_bytes(config: &ResolvedConfig, tokens: f64) -> f64 {
    match (&config.profile.kernels.awq, config.weights) {
        (Some(awq), Weights::Awq) => {
            let width = 2.0 * f64::from(config.model.intermediate);
            f64::from(awq.split_k) * tokens * width * 2.0
        }
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::EngineConfig;

    fn blocks(change: impl FnOnce(&mut EngineConfig)) -> Result<u32, EngineError> {
        let mut config = EngineConfig::of_model("qwen-14b").unwrap();
        config.profile.constants.activation_fixed_bytes = 1e9;
        config.profile.constants.activation_bytes_per_token_hidden = 100.0;
        change(&mut config);
        kv_blocks(&config.resolve().unwrap())
    }

    #[test]
    fn memory_left_by_weights_and_activations_is_divided_into_kv_blocks() {
        // 38.061e9 bytes usable, weights 28.336e9, 1e9 fixed, 100 x 2048 x 5120 = 1.049e9 of activations; a block of 16
        // tokens takes 13,107,200 bytes.
        assert_eq!(blocks(|_| ()).unwrap(), 585);
    }

    #[test]
    fn sequences_use_whole_kv_blocks_and_memory_parts_add_up_to_the_usable_memory() {
        let config = EngineConfig::of_model("qwen-14b").unwrap().resolve().unwrap();
        let memory = Memory::of(&config);
        let taken = memory.weight_bytes + memory.activation_bytes;
        let left = memory.usable_bytes - taken - memory.kv_tokens() as f64 * memory.token_bytes;
        assert!((0.0..16.0 * memory.token_bytes).contains(&left), "{left}");
        assert_eq!(memory.sequences(17), memory.kv_blocks / 2);
        assert_eq!(memory.sequences(16), memory.kv_blocks);
    }

    #[test]
    fn a_larger_max_model_len_leaves_fewer_kv_blocks_and_more_cards_leave_more() {
        let base = blocks(|_| ()).unwrap();
        assert!(blocks(|c| c.max_model_len = Some(8192)).unwrap() < base);
        assert!(blocks(|c| c.tensor_parallel_size = Some(2)).unwrap() > 4 * base);
    }

    #[test]
    fn single_precision_doubles_the_bytes_of_weights_activations_and_kv_blocks() {
        // 14.17e9 parameters of four bytes are split over four cards.
        let single = |c: &mut EngineConfig| {
            c.dtype = Some(crate::config::Dtype::Float32);
            c.tensor_parallel_size = Some(4);
        };
        // 38.061e9 bytes usable, 14.168e9 of weights, 1e9 fixed, 2.097e9 of activations; a block takes 6,553,600 bytes.
        assert_eq!(blocks(single).unwrap(), 3173);
        let message = blocks(|c| c.dtype = Some(crate::config::Dtype::Float32)).unwrap_err();
        // 14.168e9 parameters of four bytes are 56.7 GB.
        assert!(message.to_string().contains("the weights alone need 56.7 GB"), "{message}");
    }

    #[test]
    fn a_pipeline_stage_holds_its_layers_and_one_embedding() {
        // 12.611e9 bytes of layers and 1.557e9 of embedding, 1e9 fixed, 1.049e9 of activations; a block takes 6,553,600
        // bytes.
        let found = blocks(|c| c.pipeline_parallel_size = Some(2)).unwrap();
        assert_eq!(found, 3333);
        // The largest of three stages has 14 of 40 layers.
        assert!(blocks(|c| c.pipeline_parallel_size = Some(3)).unwrap() > found);
    }

    #[test]
    fn a_mixture_of_experts_needs_memory_for_all_experts() {
        let with = |cards| {
            let mut config = EngineConfig::of("mixtral-8x7b", Some("a100-40g-vllm-0.2.7")).unwrap();
            config.tensor_parallel_size = Some(cards);
            kv_blocks(&config.resolve().unwrap())
        };
        let message = with(2).unwrap_err().to_string();
        assert!(
            message.contains("mixtral-8x7b") && message.contains("but only 38.1 GB"),
            "{message}"
        );
        assert!(with(4).unwrap() > 0);
    }

    #[test]
    fn an_error_about_weights_that_do_not_fit_names_only_options_that_can_help() {
        let why = |share| {
            let message = blocks(|c| c.gpu_memory_utilization = Some(share)).unwrap_err();
            message.to_string()
        };
        // The weights are 28.3 GB: more than the 21.1 GB that the engine may use, less than the 42.3 GB of
        // the card.
        let half = why(0.5);
        assert!(half.contains("the weights alone need 28.3 GB, but only 21.1 GB"), "{half}");
        assert!(half.contains("a higher --gpu-memory-utilization"), "{half}");
        assert!(
            half.contains("--tensor-parallel-size") && !half.contains("--max-model-len"),
            "{half}"
        );
        let single =
            blocks(|c| c.dtype = Some(crate::config::Dtype::Float32)).unwrap_err().to_string();
        assert!(!single.contains("--gpu-memory-utilization"), "{single}");
    }

    #[test]
    fn memory_without_room_for_kv_blocks_is_an_error_with_both_sizes() {
        let message = blocks(|c| c.gpu_memory_utilization = Some(0.7)).unwrap_err().to_string();
        assert!(message.contains("30.4 GB") && message.contains("29.6 GB"), "{message}");
    }
}
