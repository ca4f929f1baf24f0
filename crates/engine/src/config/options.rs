//! The arguments of an engine, under vLLM's names. `crate::resolve` checks and completes them.

use super::dtype::{Dtype, KvCacheDtype};
use crate::model::{ModelSpec, model};
use crate::profile::{default_profile, profile};
use crate::{EngineError, Noise, Profile, Weights};

/// A model under a profile, and the engine's arguments. The engine's defaults replace absent arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineConfig {
    /// The model.
    pub model: ModelSpec,
    /// The constants of an engine version on a card.
    pub profile: Profile,
    /// `--quantization`; absent: the model's own format.
    pub weights: Option<Weights>,
    /// `--dtype`
    pub dtype: Option<Dtype>,
    /// `--kv-cache-dtype`
    pub kv_cache_dtype: Option<KvCacheDtype>,
    /// `--long-prefill-token-threshold`, in tokens.
    pub long_prefill_token_threshold: Option<u32>,
    /// `--max-model-len`, in tokens.
    pub max_model_len: Option<u32>,
    /// `--max-num-batched-tokens`
    pub max_num_batched_tokens: Option<u32>,
    /// `--max-num-seqs`
    pub max_num_seqs: Option<u32>,
    /// `--max-paddings`, in tokens.
    pub max_paddings: Option<u32>,
    /// `--block-size`, in tokens.
    pub block_size: Option<u32>,
    /// `--gpu-memory-utilization`, a share of the card's memory.
    pub gpu_memory_utilization: Option<f64>,
    /// `--tensor-parallel-size`, in cards.
    pub tensor_parallel_size: Option<u32>,
    /// `--pipeline-parallel-size`, in stages.
    pub pipeline_parallel_size: Option<u32>,
    /// `--enable-prefix-caching`
    pub prefix_caching: Option<bool>,
    /// `--async-scheduling`; absent: depends on the version.
    pub async_scheduling: Option<bool>,
    /// Random variation of the step times; absent: none.
    pub noise: Option<Noise>,
}

impl EngineConfig {
    /// A model under a profile, with the engine's defaults for everything else.
    pub fn new(model: ModelSpec, profile: Profile) -> Self {
        Self {
            model,
            profile,
            weights: None,
            dtype: None,
            kv_cache_dtype: None,
            long_prefill_token_threshold: None,
            max_model_len: None,
            max_num_batched_tokens: None,
            max_num_seqs: None,
            max_paddings: None,
            block_size: None,
            gpu_memory_utilization: None,
            tensor_parallel_size: None,
            pipeline_parallel_size: None,
            prefix_caching: None,
            async_scheduling: None,
            noise: None,
        }
    }

    /// A model by name or path, under its default profile.
    ///
    /// # Errors
    /// If there is no such model, or if the file cannot be read or does not describe a model.
    pub fn of_model(name: &str) -> Result<Self, EngineError> {
        Self::of(name, None)
    }

    /// A model by name or path, under a profile by name or file. `None` means the model's default profile.
    ///
    /// # Errors
    /// If there is no such model or profile, or if a file cannot be read or its contents are invalid.
    pub fn of(model_name: &str, profile_name: Option<&str>) -> Result<Self, EngineError> {
        let model = model(model_name)?;
        let profile = profile_name.map_or_else(|| default_profile(&model), profile)?;
        Ok(Self::new(model, profile))
    }
}
