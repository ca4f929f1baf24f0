//! What an engine is started with: vLLM's own arguments, and their resolution as vLLM does it.

use std::fmt;

use crate::card::Card;
use crate::error::EngineError;
use crate::model::{Experts, ModelSpec, Weights};
use crate::policy::{Scheduler, scheduler};
use crate::profile::{Profile, default_profile};

/// The type of activations and of weights that are not quantised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dtype {
    /// IEEE half precision; `auto` resolves to it.
    Float16,
    /// Brain floating point.
    Bfloat16,
    /// Single precision.
    Float32,
}

impl Dtype {
    /// The type of this name, with vLLM's spellings (`auto`, `half`, `float` ...).
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "auto" | "half" | "float16" => Some(Self::Float16),
            "bfloat16" => Some(Self::Bfloat16),
            "float" | "float32" => Some(Self::Float32),
            _ => None,
        }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Float16 => "float16",
            Self::Bfloat16 => "bfloat16",
            Self::Float32 => "float32",
        })
    }
}

/// A model under a profile, and the engine's arguments; absent ones are resolved as vLLM 0.2.x
/// does.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineConfig {
    /// The model.
    pub model: ModelSpec,
    /// The engine on its card.
    pub profile: Profile,
    /// `--quantization`; absent: as the model's weights are stored.
    pub weights: Option<Weights>,
    /// `--dtype`
    pub dtype: Option<Dtype>,
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
}

impl EngineConfig {
    /// A model under a profile, everything else left to the engine.
    #[must_use]
    pub fn new(model: ModelSpec, profile: Profile) -> Self {
        Self {
            model,
            profile,
            weights: None,
            dtype: None,
            max_model_len: None,
            max_num_batched_tokens: None,
            max_num_seqs: None,
            max_paddings: None,
            block_size: None,
            gpu_memory_utilization: None,
            tensor_parallel_size: None,
            pipeline_parallel_size: None,
            prefix_caching: None,
        }
    }

    /// A model by name or path, under its default profile.
    ///
    /// # Errors
    /// When there is no such model.
    pub fn of_model(name: &str) -> Result<Self, EngineError> {
        let model = crate::model::model(name)?;
        let profile = default_profile(&model)?;
        Ok(Self::new(model, profile))
    }

    /// Fills in what is absent and checks what is there.
    ///
    /// # Errors
    /// The first option that the engine would refuse, or that the profile cannot price.
    pub fn resolve(&self) -> Result<Resolved, EngineError> {
        let card = self.profile.card()?;
        let weights = self.resolve_weights(card)?;
        let scheduler = scheduler(&self.profile)?;
        let is_tgi = scheduler == Scheduler::Tgi13;
        let limits = match scheduler {
            Scheduler::Tgi13 => self.tgi_limits()?,
            Scheduler::Vllm02 => self.vllm_limits()?,
            Scheduler::VllmV1 => self.vllm_v1_limits()?,
        };
        let prefix_caching = self.resolve_prefix_caching(scheduler)?;
        let block_size = self.block_size.unwrap_or(16);
        if ![8, 16, 32].contains(&block_size) {
            return Err(invalid("--block-size", block_size, "must be 8, 16 or 32 tokens"));
        }
        // TGI takes all of the memory but a twentieth of what its warm-up leaves.
        let default_utilization = if is_tgi { 0.95 } else { 0.9 };
        let utilization = self.gpu_memory_utilization.unwrap_or(default_utilization);
        if !(utilization > 0.0 && utilization <= 1.0) {
            let expected = "must lie above 0 and at most at 1";
            return Err(invalid("--gpu-memory-utilization", utilization, expected));
        }
        let (tensor_parallel_size, pipeline_parallel_size) = self.resolve_parallel()?;
        Ok(Resolved {
            model: self.model.clone(),
            profile: self.profile.clone(),
            card: card.clone(),
            weights,
            limits,
            block_size,
            gpu_memory_utilization: utilization,
            tensor_parallel_size,
            pipeline_parallel_size,
            prefix_caching,
        })
    }

    /// Beginnings of prompts are shared by vLLM since 0.8 unless that is turned off.
    fn resolve_prefix_caching(&self, scheduler: Scheduler) -> Result<bool, EngineError> {
        if scheduler == Scheduler::VllmV1 {
            return Ok(self.prefix_caching.unwrap_or(true));
        }
        if self.prefix_caching == Some(true) {
            let Profile { engine, engine_version, .. } = &self.profile;
            let expected =
                format!("{engine} {engine_version} does not share beginnings of prompts");
            return Err(invalid("--enable-prefix-caching", true, expected));
        }
        Ok(false)
    }

    /// Steps of a budget of tokens need not hold a whole prompt, and pad nothing.
    fn vllm_v1_limits(&self) -> Result<Limits, EngineError> {
        if let Some(paddings) = self.max_paddings {
            let expected = "this engine's steps have no padding; leave it out";
            return Err(invalid("--max-paddings", paddings, expected));
        }
        let max_num_seqs = self.max_num_seqs.unwrap_or(256);
        let max_num_batched_tokens = self.max_num_batched_tokens.unwrap_or(2048.max(max_num_seqs));
        check_batch(max_num_batched_tokens, max_num_seqs)?;
        let max_model_len = self.resolve_max_model_len()?;
        Ok(Limits { max_model_len, max_num_seqs, max_num_batched_tokens, max_paddings: 0 })
    }

    fn vllm_limits(&self) -> Result<Limits, EngineError> {
        let max_model_len = self.resolve_max_model_len()?;
        let max_num_seqs = self.max_num_seqs.unwrap_or(256);
        Ok(Limits {
            max_model_len,
            max_num_seqs,
            max_num_batched_tokens: self.resolve_batched_tokens(max_model_len, max_num_seqs)?,
            max_paddings: self.max_paddings.unwrap_or(256),
        })
    }

    /// `--max-total-tokens` and `--max-batch-prefill-tokens` under vLLM's names; TGI limits neither
    /// sequences nor padding.
    fn tgi_limits(&self) -> Result<Limits, EngineError> {
        let most = self.model.context_limit.unwrap_or(self.model.context);
        let max_model_len = self.max_model_len.unwrap_or(most.min(8192));
        if max_model_len == 0 || max_model_len > most {
            let expected = format!("{} takes sequences of 1 to {most} tokens", self.model.name);
            return Err(invalid("--max-model-len", max_model_len, expected));
        }
        Ok(Limits {
            max_model_len,
            max_num_seqs: self.max_num_seqs.unwrap_or(1024),
            max_num_batched_tokens: self.max_num_batched_tokens.unwrap_or(4096),
            max_paddings: 0,
        })
    }

    fn resolve_weights(&self, card: &Card) -> Result<Weights, EngineError> {
        let weights = self.weights.unwrap_or(self.model.weights);
        let quantised = !matches!(weights, Weights::Fp16 | Weights::Fp32);
        let default = if weights == Weights::Fp32 { Dtype::Float32 } else { Dtype::Float16 };
        let dtype = self.dtype.unwrap_or(default);
        if !self.profile.supports(weights) {
            let known: Vec<_> = self.profile.weights.iter().map(|w| w.name()).collect();
            return Err(EngineError::KernelNotCalibrated {
                profile: self.profile.name.clone(),
                weights,
                known: known.join(", "),
            });
        }
        let least = match weights {
            Weights::Fp16 | Weights::Fp32 => (0, 0),
            Weights::SqueezeLlm => (7, 0),
            Weights::Gptq => (6, 0),
            Weights::Awq => (7, 5),
        };
        if card.capability < least {
            let expected = format!(
                "needs compute capability {}.{}, and {} has {}.{}",
                least.0, least.1, card.name, card.capability.0, card.capability.1
            );
            return Err(invalid("--quantization", weights, expected));
        }
        match dtype {
            Dtype::Float32 if !quantised => Ok(Weights::Fp32),
            Dtype::Float16 | Dtype::Bfloat16 if weights == Weights::Fp32 => {
                Err(invalid("--dtype", dtype, "fp32 weights are multiplied in float32"))
            }
            Dtype::Float32 | Dtype::Bfloat16 if quantised => {
                let expected = format!("{weights} weights are multiplied in float16 only");
                Err(invalid("--dtype", dtype, expected))
            }
            Dtype::Bfloat16 if card.capability < (8, 0) => {
                let expected = format!("needs compute capability 8.0, and {} has less", card.name);
                Err(invalid("--dtype", dtype, expected))
            }
            Dtype::Float32 | Dtype::Bfloat16 | Dtype::Float16 => Ok(weights),
        }
    }

    fn resolve_max_model_len(&self) -> Result<u32, EngineError> {
        let model = &self.model;
        let limit = model.context_limit.unwrap_or(model.context);
        match self.max_model_len {
            None => Ok(model.context),
            Some(0) => Err(invalid("--max-model-len", 0, "must be at least 1 token")),
            Some(length) if length > limit => {
                let expected = format!("{} takes sequences of {limit} tokens at most", model.name);
                Err(invalid("--max-model-len", length, expected))
            }
            Some(length) => Ok(length),
        }
    }

    fn resolve_batched_tokens(&self, model_len: u32, seqs: u32) -> Result<u32, EngineError> {
        let tokens = self.max_num_batched_tokens.unwrap_or(model_len.max(2048));
        if seqs > 0 && tokens < model_len {
            let expected =
                format!("must be at least the {model_len} of --max-model-len, or it limits it");
            return Err(invalid("--max-num-batched-tokens", tokens, expected));
        }
        check_batch(tokens, seqs)?;
        Ok(tokens)
    }

    /// Cards that share a layer, and stages that share the layers.
    fn resolve_parallel(&self) -> Result<(u32, u32), EngineError> {
        let stages = self.pipeline_parallel_size.unwrap_or(1);
        let most = if self.profile.engine == "tgi" { 1 } else { self.model.layers };
        if stages == 0 || stages > most {
            let (engine, layers) = (&self.profile.engine, self.model.layers);
            let expected =
                format!("must be 1 to {most} stages: the engine is {engine}, of {layers} layers");
            return Err(invalid("--pipeline-parallel-size", stages, expected));
        }
        let cards = self.tensor_parallel_size.unwrap_or(self.profile.cards);
        if cards == 0 || !self.model.heads.is_multiple_of(cards) {
            let expected = format!("must divide the model's {} attention heads", self.model.heads);
            return Err(invalid("--tensor-parallel-size", cards, expected));
        }
        Ok((cards, stages))
    }
}

/// A step has room for a token of each sequence.
fn check_batch(tokens: u32, sequences: u32) -> Result<(), EngineError> {
    if sequences == 0 {
        return Err(invalid("--max-num-seqs", 0, "must be at least 1"));
    }
    if tokens < sequences {
        let expected = format!("must be at least the {sequences} of --max-num-seqs");
        return Err(invalid("--max-num-batched-tokens", tokens, expected));
    }
    Ok(())
}

fn invalid(
    flag: &'static str,
    found: impl fmt::Display,
    expected: impl Into<String>,
) -> EngineError {
    EngineError::Invalid { flag, found: found.to_string(), expected: expected.into() }
}

/// Limits that a scheduler keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Tokens of a sequence, prompt and output.
    pub max_model_len: u32,
    /// Sequences that run at once.
    pub max_num_seqs: u32,
    /// Tokens of a prompt step, padding included.
    pub max_num_batched_tokens: u32,
    /// Padding of a prompt step, in tokens.
    pub max_paddings: u32,
}

/// A configuration with nothing left open.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// The model.
    pub model: ModelSpec,
    /// The engine on its card.
    pub profile: Profile,
    /// The card of the profile.
    pub card: Card,
    /// How the linear layers are stored.
    pub weights: Weights,
    /// What the scheduler keeps.
    pub limits: Limits,
    /// Tokens of a KV block.
    pub block_size: u32,
    /// Share of a card's memory that the engine may use.
    pub gpu_memory_utilization: f64,
    /// Cards that share each layer.
    pub tensor_parallel_size: u32,
    /// Stages that share the layers.
    pub pipeline_parallel_size: u32,
    /// Beginnings of prompts that are in memory are not computed again.
    pub prefix_caching: bool,
}

impl Resolved {
    /// Operations per second that the card states for products of the activations' type.
    #[must_use]
    pub fn flops_per_s(&self) -> f64 {
        match self.weights {
            Weights::Fp32 => self.card.single_flops_per_s,
            Weights::Fp16 | Weights::Gptq | Weights::Awq | Weights::SqueezeLlm => {
                self.card.dense_flops_per_s
            }
        }
    }

    /// What makes its cost one of a form that no row of any profile was measured of.
    #[must_use]
    pub fn unseen_form(&self) -> Option<String> {
        if self.pipeline_parallel_size > 1 {
            let stages = self.pipeline_parallel_size;
            return Some(format!(
                "no row of {stages} pipeline stages was fitted; a step goes through all in turn"
            ));
        }
        self.model.experts.map(|experts| {
            let Experts { count, per_token, .. } = experts;
            format!("no row of a mixture of experts ({per_token} of {count}) was fitted")
        })
    }

    /// What no measured row stands behind, in sentences for a reader of predictions.
    #[must_use]
    pub fn caveats(&self) -> Vec<String> {
        let mut caveats = Vec::new();
        let cards = self.tensor_parallel_size;
        if cards > 1 && !self.profile.provenance.iter().any(|p| p.seen.cards == cards) {
            caveats.push(format!(
                "tensor parallelism over {} cards is estimated from their link and uncalibrated",
                self.tensor_parallel_size
            ));
        }
        let mut known = self.profile.provenance.iter();
        if !self.profile.provenance.is_empty() && !known.any(|p| p.weights == self.weights) {
            let weights = self.weights;
            let analogy = match weights {
                Weights::SqueezeLlm => "; they are priced by analogy with gptq",
                _ => "",
            };
            caveats.push(format!("no row of {weights} weights was fitted{analogy}: uncalibrated"));
        }
        caveats.extend(self.unseen_form().map(|form| format!("{form}: uncalibrated")));
        if self.profile.provenance.is_empty() {
            let name = &self.profile.name;
            caveats.push(format!("profile {name} was held against no measured rows: uncalibrated"));
        }
        caveats
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(change: impl FnOnce(&mut EngineConfig)) -> Result<Resolved, EngineError> {
        let mut config = EngineConfig::of_model("qwen-14b").unwrap();
        change(&mut config);
        config.resolve()
    }

    #[test]
    fn absent_options_resolve_as_vllm_does() {
        let resolved = config(|_| ()).unwrap();
        assert_eq!(
            resolved.limits,
            Limits {
                max_model_len: 2048,
                max_num_seqs: 256,
                max_num_batched_tokens: 2048,
                max_paddings: 256
            }
        );
        assert_eq!((resolved.block_size, resolved.tensor_parallel_size), (16, 1));
        let short = config(|c| c.max_model_len = Some(1024)).unwrap();
        assert_eq!(short.limits.max_num_batched_tokens, 2048);
        let long = config(|c| c.max_model_len = Some(8192)).unwrap();
        assert_eq!(long.limits.max_num_batched_tokens, 8192);
    }

    #[test]
    fn what_the_engine_would_refuse_is_refused_by_the_flag() {
        type Change = fn(&mut EngineConfig);
        let cases: [(&str, Change); 14] = [
            ("--max-model-len", |c| c.max_model_len = Some(8193)),
            ("--max-model-len", |c| c.max_model_len = Some(0)),
            ("--max-num-seqs", |c| c.max_num_seqs = Some(0)),
            ("--max-num-batched-tokens", |c| c.max_num_batched_tokens = Some(2047)),
            ("--max-num-seqs", |c| c.max_num_seqs = Some(4096)),
            ("--block-size", |c| c.block_size = Some(12)),
            ("--gpu-memory-utilization", |c| c.gpu_memory_utilization = Some(1.1)),
            ("--tensor-parallel-size", |c| c.tensor_parallel_size = Some(3)),
            ("--tensor-parallel-size", |c| c.tensor_parallel_size = Some(0)),
            ("--pipeline-parallel-size", |c| c.pipeline_parallel_size = Some(41)),
            ("--pipeline-parallel-size", |c| c.pipeline_parallel_size = Some(0)),
            ("--dtype", |c| {
                c.weights = Some(Weights::Gptq);
                c.dtype = Some(Dtype::Float32);
            }),
            ("--quantization", |c| c.weights = Some(Weights::Awq)),
            ("--dtype", |c| {
                c.weights = Some(Weights::Gptq);
                c.dtype = Some(Dtype::Bfloat16);
            }),
        ];
        for (flag, change) in cases {
            let message = config(change).unwrap_err().to_string();
            assert!(message.contains(flag), "{flag}: {message}");
        }
    }

    #[test]
    fn what_is_not_calibrated_is_said() {
        assert!(config(|_| ()).unwrap().caveats().is_empty());
        let two = config(|c| c.tensor_parallel_size = Some(2)).unwrap().caveats();
        assert!(two.len() == 1 && two[0].contains("2 cards"), "{two:?}");
        let blank = config(|c| c.profile.provenance.clear()).unwrap().caveats();
        assert!(blank.len() == 1 && blank[0].contains("uncalibrated"), "{blank:?}");
    }
}
