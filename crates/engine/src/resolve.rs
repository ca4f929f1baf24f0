//! Resolves a configuration as the engine does at its start: fills in defaults, and rejects values that the engine
//! would reject. The scheduler of the profile's engine provides the defaults and limits that differ between engines.

use crate::card::Card;
use crate::model::Windows;
use crate::model::layout::{Attention, Layer};
use crate::policy::{Scheduler, scheduler};
use crate::{
    Dtype, EngineConfig, EngineError, KvCacheDtype, Limits, Profile, ResolvedConfig, Weights,
};

impl EngineConfig {
    /// Fills in defaults and checks the given values.
    ///
    /// # Errors
    /// The first option that the engine would reject, or for which the profile has no constants.
    pub fn resolve(&self) -> Result<ResolvedConfig, EngineError> {
        self.check_layout()?;
        let card = self.profile.card()?;
        let weights = self.resolve_weights(&card)?;
        let scheduler = scheduler(&self.profile)?;
        self.check_long_prefill(scheduler)?;
        let limits = scheduler.limits(self)?;
        let prefix_caching = self.resolve_prefix_caching(scheduler)?;
        let async_scheduling = self.resolve_async_scheduling(scheduler)?;
        let block_size = self.block_size.unwrap_or(16);
        if ![8, 16, 32].contains(&block_size) {
            let expected = "must be 8, 16 or 32 tokens";
            return Err(EngineError::invalid("--block-size", block_size, expected));
        }
        let utilization =
            self.gpu_memory_utilization.unwrap_or(scheduler.default_gpu_memory_utilization());
        if !(utilization > 0.0 && utilization <= 1.0) {
            let expected = "must be above 0 and at most 1";
            return Err(EngineError::invalid("--gpu-memory-utilization", utilization, expected));
        }
        let (tensor_parallel_size, pipeline_parallel_size) = self.resolve_parallel(scheduler)?;
        Ok(ResolvedConfig {
            model: self.model.clone(),
            profile: self.profile.clone(),
            card,
            weights,
            limits,
            block_size,
            gpu_memory_utilization: utilization,
            tensor_parallel_size,
            pipeline_parallel_size,
            windows: self.resolve_windows(limits),
            kv_bytes_per_number: self.resolve_kv_bytes(weights)?,
            prefix_caching,
            async_scheduling,
            noise: self.noise,
        })
    }

    /// Rejects models with a layout if the profile has no step constants. The older cost model does not support them.
    fn check_layout(&self) -> Result<(), EngineError> {
        if self.model.layout.is_some() && self.profile.steps.is_none() {
            let Profile { engine, engine_version, .. } = &self.profile;
            let expected = format!(
                "cannot serve {}, whose layers differ; give vllm-0.8 or later",
                self.model.name
            );
            return Err(EngineError::invalid(
                "--engine",
                format!("{engine}-{engine_version}"),
                expected,
            ));
        }
        Ok(())
    }

    /// The layers with sliding-window attention. Only the cost model for vLLM 0.8 and later supports such layers.
    /// `None` also if the window is not shorter than the longest sequence, because it then has no effect.
    fn resolve_windows(&self, limits: Limits) -> Option<Windows> {
        let is_shorter = |windows: &Windows| windows.tokens < limits.max_model_len;
        self.model.windows.filter(is_shorter).filter(|_| self.profile.steps.is_some())
    }

    /// Whether prefix caching is on. By default, prefix caching is on if the engine supports it, and if the model has no
    /// recurrent layers (`is_prefix_caching_supported` in `vllm/config/model.py`).
    fn resolve_prefix_caching(&self, scheduler: &dyn Scheduler) -> Result<bool, EngineError> {
        if scheduler.supports_prefix_caching() {
            let recurrent = |it: &Layer| matches!(it.attention, Attention::Recurrent { .. });
            let is_hybrid =
                self.model.layout.as_ref().is_some_and(|it| it.layers.iter().any(recurrent));
            return Ok(self.prefix_caching.unwrap_or(!is_hybrid));
        }
        if self.prefix_caching == Some(true) {
            let Profile { engine, engine_version, .. } = &self.profile;
            let expected = format!("{engine} {engine_version} has no prefix caching");
            return Err(EngineError::invalid("--enable-prefix-caching", true, expected));
        }
        Ok(false)
    }

    /// Whether the engine schedules the next step while a step runs. The default depends on the version of the engine.
    fn resolve_async_scheduling(&self, scheduler: &dyn Scheduler) -> Result<bool, EngineError> {
        match self.async_scheduling {
            Some(true) if self.profile.steps.is_none() => Err(EngineError::invalid(
                "--async-scheduling",
                true,
                "is supported only for vLLM 0.8 and later, with a profile that has `steps`",
            )),
            given => Ok(given.unwrap_or(scheduler.schedules_ahead(&self.profile))),
        }
    }

    /// Bytes per number in the KV cache (`--kv-cache-dtype`).
    fn resolve_kv_bytes(&self, weights: Weights) -> Result<f64, EngineError> {
        match self.kv_cache_dtype {
            None | Some(KvCacheDtype::Auto) => Ok(weights.bytes_per_activation()),
            Some(KvCacheDtype::Fp8) if self.profile.steps.is_some() => Ok(1.0),
            Some(KvCacheDtype::Fp8) => Err(EngineError::invalid(
                "--kv-cache-dtype",
                KvCacheDtype::Fp8,
                "is supported only for vLLM 0.8 and later, with a profile that has `steps`",
            )),
        }
    }

    /// Rejects `--long-prefill-token-threshold` if the engine does not compute prompts in chunks.
    fn check_long_prefill(&self, scheduler: &dyn Scheduler) -> Result<(), EngineError> {
        match self.long_prefill_token_threshold {
            Some(tokens) if !scheduler.chunks_prefill() => Err(EngineError::invalid(
                "--long-prefill-token-threshold",
                tokens,
                "this engine computes every prompt in one step; omit this option",
            )),
            _ => Ok(()),
        }
    }

    /// The format of the weights, checked against the card and `--dtype`.
    fn resolve_weights(&self, card: &Card) -> Result<Weights, EngineError> {
        let weights = self.weights.unwrap_or(self.model.weights);
        let quantised = !matches!(weights, Weights::Fp16 | Weights::Fp32);
        let today = self.profile.steps.is_some();
        let default = if weights == Weights::Fp32 { Dtype::Float32 } else { Dtype::Float16 };
        let dtype = self.dtype.unwrap_or(default);
        if !self.profile.supports(weights) {
            let known: Vec<_> = self.profile.weights.iter().map(|w| w.name()).collect();
            let Profile { engine, engine_version, .. } = &self.profile;
            return Err(EngineError::KernelNotCalibrated {
                engine: format!("{engine} {engine_version}"),
                card: card.name.clone(),
                weights,
                known: known.join(", "),
            });
        }
        let required = match weights {
            Weights::Fp16 | Weights::Fp32 => (0, 0),
            Weights::SqueezeLlm => (7, 0),
            Weights::Gptq => (6, 0),
            Weights::Awq => (7, 5),
            // vLLM multiplies four-bit floats on such cards as weights of sixteen bits (`marlin_utils_fp4.py`).
            Weights::Fp8 | Weights::Int4 | Weights::Nvfp4 | Weights::Mxfp4 => (8, 0),
        };
        if card.capability < required {
            let expected = format!(
                "needs compute capability {}.{}, and {} has {}.{}",
                required.0, required.1, card.name, card.capability.0, card.capability.1
            );
            return Err(EngineError::invalid("--weights", weights, expected));
        }
        match dtype {
            Dtype::Float32 if !quantised => Ok(Weights::Fp32),
            Dtype::Float16 | Dtype::Bfloat16 if weights == Weights::Fp32 => Err(
                EngineError::invalid("--dtype", dtype, "fp32 weights are multiplied in float32"),
            ),
            Dtype::Bfloat16 if today && card.capability >= (8, 0) => Ok(weights),
            Dtype::Bfloat16 if card.capability < (8, 0) && (today || !quantised) => {
                let expected = format!(
                    "needs compute capability 8.0, and {} has less; use float16",
                    card.name
                );
                Err(EngineError::invalid("--dtype", dtype, expected))
            }
            Dtype::Float32 | Dtype::Bfloat16 if quantised => {
                let expected =
                    format!("is not supported with {weights} weights by this engine; use float16");
                Err(EngineError::invalid("--dtype", dtype, expected))
            }
            Dtype::Float32 | Dtype::Bfloat16 | Dtype::Float16 => Ok(weights),
        }
    }

    /// The number of cards over which each layer is split, and the number of pipeline stages.
    fn resolve_parallel(&self, scheduler: &dyn Scheduler) -> Result<(u32, u32), EngineError> {
        let stages = self.pipeline_parallel_size.unwrap_or(1);
        let most = if scheduler.supports_pipeline_stages() { self.model.layers } else { 1 };
        if stages == 0 || stages > most {
            let (engine, layers) = (&self.profile.engine, self.model.layers);
            let expected =
                format!("must be 1 to {most} for {engine} and a model of {layers} layers");
            return Err(EngineError::invalid("--pipeline-parallel-size", stages, expected));
        }
        let cards = self.tensor_parallel_size.unwrap_or(self.profile.cards);
        if cards == 0 || !self.model.heads.is_multiple_of(cards) {
            let expected = format!("must divide the model's {} attention heads", self.model.heads);
            return Err(EngineError::invalid("--tensor-parallel-size", cards, expected));
        }
        Ok((cards, stages))
    }
}

impl ResolvedConfig {
    /// Settings that the simulated server (`inferometer engine`) and stored predictions state only if they differ from
    /// the default: (name of the flag with underscores, value).
    pub fn further_settings(&self) -> Vec<(&'static str, String)> {
        let is_default = scheduler(&self.profile)
            .is_ok_and(|usual| usual.schedules_ahead(&self.profile) == self.async_scheduling);
        let threshold = self.limits.max_prompt_part;
        let settings = [
            ("kv_cache_dtype", (self.kv_bytes_per_number < 2.0).then(|| "fp8".to_owned())),
            ("async_scheduling", (!is_default).then(|| self.async_scheduling.to_string())),
            (
                "long_prefill_token_threshold",
                (threshold != u32::MAX).then(|| threshold.to_string()),
            ),
        ];
        settings.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(change: impl FnOnce(&mut EngineConfig)) -> Result<ResolvedConfig, EngineError> {
        let mut config = EngineConfig::of_model("qwen-14b").unwrap();
        change(&mut config);
        config.resolve()
    }

    #[test]
    fn absent_options_get_the_defaults_of_vllm() {
        let resolved = config(|_| ()).unwrap();
        assert_eq!(
            resolved.limits,
            Limits {
                max_model_len: 2048,
                max_num_seqs: 256,
                max_num_batched_tokens: 2048,
                max_paddings: 256,
                max_prompt_part: u32::MAX,
                reserves_prompts: false,
            }
        );
        assert_eq!((resolved.block_size, resolved.tensor_parallel_size), (16, 1));
        let short = config(|c| c.max_model_len = Some(1024)).unwrap();
        assert_eq!(short.limits.max_num_batched_tokens, 2048);
        let long = config(|c| c.max_model_len = Some(8192)).unwrap();
        assert_eq!(long.limits.max_num_batched_tokens, 8192);
    }

    #[test]
    fn options_that_the_engine_would_refuse_are_refused_with_their_flag() {
        type Change = fn(&mut EngineConfig);
        let cases: [(&str, Change); 15] = [
            ("--async-scheduling", |c| c.async_scheduling = Some(true)),
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
            ("--weights: awq cannot be simulated for vllm 0.2.7", |c| {
                c.weights = Some(Weights::Awq);
            }),
            ("--dtype", |c| {
                c.weights = Some(Weights::Gptq);
                c.dtype = Some(Dtype::Bfloat16);
            }),
        ];
        for (flag, change) in cases {
            let message = config(change).unwrap_err().to_string();
            assert!(message.contains(flag), "{flag}: {message}");
            // The user did not name the default profile, so messages must not name it either.
            assert!(!message.contains("a100-40g-vllm-0.2.7"), "{message}");
        }
    }

    #[test]
    fn a_refused_dtype_names_the_card_only_if_the_card_is_the_reason() {
        let told = |profile: &str, card: Option<&str>, dtype| {
            let mut config = EngineConfig::of("qwen3-14b", Some(profile)).unwrap();
            if let Some(card) = card {
                card.clone_into(&mut config.profile.card);
            }
            config.profile.weights = vec![Weights::Gptq];
            (config.weights, config.dtype) = (Some(Weights::Gptq), Some(dtype));
            config.resolve().unwrap_err().to_string()
        };
        let (old, new) = ("a100-40g-vllm-0.2.7", "vllm-0.23-h100-sxm");
        let v100 = Some("v100-pcie-32gb");
        let engine = "is not supported with gptq weights by this engine; use float16";
        let card = "needs compute capability 8.0, and v100-pcie-32gb has less; use float16";
        for (profile, on, dtype, why) in [
            (old, None, Dtype::Bfloat16, engine),
            (old, v100, Dtype::Bfloat16, engine),
            (new, None, Dtype::Float32, engine),
            (new, v100, Dtype::Float32, engine),
            (new, v100, Dtype::Bfloat16, card),
        ] {
            let message = told(profile, on, dtype);
            assert!(message.ends_with(why), "{profile}, {on:?}, {dtype}: {message}");
        }
    }

    #[test]
    fn a_refusal_begins_with_the_option_to_change() {
        type Change = fn(&mut EngineConfig);
        let cases: [(&str, Change); 4] = [
            ("--max-num-seqs 4096: must be at most the tokens in a step, which are 2048", |c| {
                c.max_num_seqs = Some(4096);
            }),
            ("--max-num-batched-tokens 100: must be at least --max-num-seqs, which is 101", |c| {
                c.max_model_len = Some(50);
                (c.max_num_batched_tokens, c.max_num_seqs) = (Some(100), Some(101));
            }),
            (
                "--max-num-batched-tokens 100: must be at least --max-num-seqs, which is 256 by",
                |c| {
                    (c.max_num_batched_tokens, c.max_model_len) = (Some(100), Some(50));
                },
            ),
            (
                "--max-num-batched-tokens 100: must be at least the maximum length of a sequence",
                |c| {
                    c.max_num_batched_tokens = Some(100);
                },
            ),
        ];
        for (begins, change) in cases {
            let message = config(change).unwrap_err().to_string();
            assert!(message.starts_with(begins), "{begins}: {message}");
        }
        // The maximum length of a sequence comes from the model, not from a flag.
        let mut config = EngineConfig::of("qwen3-14b", Some("vllm-0.8-l40s")).unwrap();
        config.gpu_memory_utilization = Some(0.7);
        let message = match crate::Engine::new(config) {
            Ok(_) => panic!("the KV cache of this card is too small"),
            Err(error) => error.to_string(),
        };
        assert!(
            message
                .starts_with("--max-model-len is missing: sequences of qwen3-14b have up to 40960"),
            "{message}"
        );
    }

    #[test]
    fn asynchronous_scheduling_depends_on_the_version_unless_its_flag_is_given() {
        let of = |name: &str, given| {
            let mut config = EngineConfig::of("qwen3-14b", Some(name)).unwrap();
            config.async_scheduling = given;
            config.resolve().unwrap().async_scheduling
        };
        for (name, default) in [("vllm-0.23-h100-sxm", true), ("vllm-0.11-h100-sxm", false)] {
            let found = [None, Some(true), Some(false)].map(|given| of(name, given));
            assert_eq!(found, [default, true, false], "{name}");
        }
        assert!(!config(|c| c.async_scheduling = Some(false)).unwrap().async_scheduling);
    }

    #[test]
    fn an_uncalibrated_configuration_gets_a_caveat() {
        assert!(config(|_| ()).unwrap().caveats().is_empty());
        let two = config(|c| c.tensor_parallel_size = Some(2)).unwrap().caveats();
        assert!(two.len() == 1 && two[0].contains("2 cards"), "{two:?}");
        let blank = config(|c| c.profile.provenance.clear()).unwrap().caveats();
        assert!(blank.len() == 1 && blank[0].contains("uncalibrated"), "{blank:?}");
    }
}
