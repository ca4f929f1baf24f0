//! vLLM's own flags, as the embedded engine takes them. Their defaults are the engine's.

use std::collections::BTreeMap;

use clap::Args;
use inferometer_engine::{Dtype, EngineConfig, Weights};
use serde::Serialize;

use super::run_flags::given;
use crate::command_line::exit::Failure;

/// The flags; what is absent is resolved as vLLM does.
#[derive(Args, Default, Serialize)]
pub struct EngineFlags {
    /// How the linear layers are stored: fp16, gptq, awq; uncalibrated: squeezellm, fp32 [default:
    /// the model's]
    #[arg(long, alias = "quantization", value_name = "KIND", help_heading = "Engine")]
    weights: Option<String>,
    /// Type of activations and of weights that are not quantised; float32 is uncalibrated
    #[arg(long, help_heading = "Engine")]
    dtype: Option<String>,
    /// The most tokens of a prompt and its output
    #[arg(long, value_name = "N", help_heading = "Engine")]
    max_model_len: Option<u32>,
    /// The most tokens of a step
    #[arg(long, value_name = "N", help_heading = "Engine")]
    max_num_batched_tokens: Option<u32>,
    /// The most sequences of a step
    #[arg(long, value_name = "N", help_heading = "Engine")]
    max_num_seqs: Option<u32>,
    /// The most padding of a prompt step
    #[arg(long, value_name = "N", help_heading = "Engine")]
    max_paddings: Option<u32>,
    /// Tokens of a KV block
    #[arg(long, value_name = "N", help_heading = "Engine")]
    block_size: Option<u32>,
    /// Share of the card's memory to use
    #[arg(long, value_parser = super::run_flags::finite, value_name = "SHARE", help_heading = "Engine")]
    gpu_memory_utilization: Option<f64>,
    /// Cards that share each layer
    #[arg(long, value_name = "N", help_heading = "Engine")]
    tensor_parallel_size: Option<u32>,
    /// Stages of layers, which each step goes through in turn; more than one is uncalibrated
    #[arg(long, value_name = "N", help_heading = "Engine")]
    pipeline_parallel_size: Option<u32>,
    /// Whether beginnings of prompts that are in memory are taken from there (vLLM since 0.8)
    /// [default: true]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    #[arg(help_heading = "Engine")]
    enable_prefix_caching: Option<bool>,
    /// Compute every prompt whole: --enable-prefix-caching false
    #[arg(long, conflicts_with = "enable_prefix_caching", help_heading = "Engine")]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    no_enable_prefix_caching: bool,
}

impl EngineFlags {
    /// The flags that were given, by name, as they are part of a plan.
    pub fn given(&self) -> BTreeMap<String, String> {
        let given = given(self).unwrap_or_default();
        let text = |value: serde_json::Value| match value {
            serde_json::Value::String(text) => text,
            other => other.to_string(),
        };
        given.into_iter().map(|(name, value)| (name, text(value))).collect()
    }

    /// Lays the flags over a configuration.
    pub fn apply(&self, config: &mut EngineConfig) -> Result<(), Failure> {
        if let Some(name) = &self.weights {
            config.weights = Some(Weights::parse(name).ok_or_else(|| {
                let known = Weights::ALL.map(Weights::name).join(", ");
                Failure::usage(format!("--weights: `{name}` is not known; there are {known}"))
            })?);
        }
        if let Some(name) = &self.dtype {
            config.dtype = Some(Dtype::parse(name).ok_or_else(|| {
                let known = "auto, half, float16, bfloat16, float, float32";
                Failure::usage(format!("--dtype: `{name}` is no type; there are {known}"))
            })?);
        }
        config.max_model_len = self.max_model_len;
        config.max_num_batched_tokens = self.max_num_batched_tokens;
        config.max_num_seqs = self.max_num_seqs;
        config.max_paddings = self.max_paddings;
        config.block_size = self.block_size;
        config.gpu_memory_utilization = self.gpu_memory_utilization;
        config.tensor_parallel_size = self.tensor_parallel_size;
        config.pipeline_parallel_size = self.pipeline_parallel_size;
        let off = self.no_enable_prefix_caching.then_some(false);
        config.prefix_caching = off.or(self.enable_prefix_caching);
        Ok(())
    }
}

/// The engine that is predicted.
pub fn config(
    model_name: Option<&str>,
    profile_name: Option<&str>,
    flags: &EngineFlags,
) -> Result<EngineConfig, Failure> {
    let model_name = model_name.unwrap_or("chatglm3-6b");
    let mut config = EngineConfig::of(model_name, profile_name).map_err(Failure::usage)?;
    flags.apply(&mut config)?;
    config.resolve().map_err(Failure::usage)?;
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_given_is_part_of_a_plan() {
        assert!(EngineFlags::default().given().is_empty());
        let flags = EngineFlags {
            weights: Some("awq".to_owned()),
            gpu_memory_utilization: Some(0.85),
            block_size: Some(32),
            ..EngineFlags::default()
        };
        let given: Vec<_> = flags.given().into_iter().collect();
        let expected =
            [("block_size", "32"), ("gpu_memory_utilization", "0.85"), ("weights", "awq")];
        assert_eq!(given, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
}
