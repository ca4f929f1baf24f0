//! Checks of limits that all versions of vLLM share.

use crate::model::RopeLengths;
use crate::{EngineConfig, EngineError};

/// Returns `--max-model-len`, by default the context length of the model.
pub(super) fn max_model_len(config: &EngineConfig) -> Result<u32, EngineError> {
    let model = &config.model;
    let (usual, limit) = lengths(config);
    match config.max_model_len {
        None => Ok(usual),
        Some(0) => Err(EngineError::invalid("--max-model-len", 0, "must be at least 1 token")),
        Some(length) if length > limit => {
            let expected = format!("{} accepts sequences of at most {limit} tokens", model.name);
            Err(EngineError::invalid("--max-model-len", length, expected))
        }
        Some(length) => Ok(length),
    }
}

/// The version of vLLM from which on YaRN does not multiply the stated maximum (pull request 56446).
const UNSCALED_YARN_FROM: [u32; 3] = [0, 30, 0];
/// The version of vLLM from which on LongRoPE is used only if it is requested (pull request 27431).
const SHORT_ROPE_FROM: [u32; 3] = [0, 11, 1];

/// The default and the largest length of a sequence in the version of the profile, in tokens.
fn lengths(config: &EngineConfig) -> (u32, u32) {
    let model = &config.model;
    let mut parts = config.profile.engine_version.split('.');
    let version = [(); 3].map(|()| parts.next().and_then(|it| it.parse().ok()).unwrap_or(0_u32));
    let limit = model.context_limit.unwrap_or(model.context);
    match model.rope {
        Some(RopeLengths::Yarn { stated }) if version >= UNSCALED_YARN_FROM => (stated, stated),
        Some(RopeLengths::Long { original }) if version >= SHORT_ROPE_FROM => {
            (original.min(limit), limit)
        }
        _ => (model.context, limit),
    }
}

/// Checks that a step has room for one token of each sequence. The error names the option that was given.
pub(super) fn check_step(
    config: &EngineConfig,
    batched_tokens: u32,
    sequences: u32,
) -> Result<(), EngineError> {
    let (of_tokens, of_sequences) = ("--max-num-batched-tokens", "--max-num-seqs");
    if sequences == 0 {
        return Err(EngineError::invalid(of_sequences, 0, "must be at least 1"));
    }
    if batched_tokens < sequences && config.max_num_batched_tokens.is_none() {
        let expected = format!(
            "must be at most the tokens in a step, which are {batched_tokens}; give fewer sequences, \
                or a higher {of_tokens}"
        );
        return Err(EngineError::invalid(of_sequences, sequences, expected));
    }
    if batched_tokens < sequences {
        let by_default = if config.max_num_seqs.is_none() { " by default" } else { "" };
        let expected = format!("must be at least {of_sequences}, which is {sequences}{by_default}");
        return Err(EngineError::invalid(of_tokens, batched_tokens, expected));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_a_model_with_scaled_positions_depends_on_the_version_of_vllm() {
        let yarn = RopeLengths::Yarn { stated: 40_960 };
        let long = RopeLengths::Long { original: 4096 };
        for (rope, version, given, expected) in [
            (yarn, "0.23", None, 131_072),
            (yarn, "0.30", None, 40_960),
            (yarn, "0.23", Some(100_000), 100_000),
            (long, "0.11", None, 131_072),
            (long, "0.11.1", None, 4096),
            (long, "0.23", None, 4096),
            (long, "0.23", Some(131_072), 131_072),
        ] {
            let mut config = EngineConfig::of("qwen3-14b", Some("vllm-0.23-h100-sxm")).unwrap();
            version.clone_into(&mut config.profile.engine_version);
            (config.model.context, config.model.context_limit) = (131_072, None);
            (config.model.rope, config.max_model_len) = (Some(rope), given);
            assert_eq!(max_model_len(&config).unwrap(), expected, "{rope:?} {version}");
        }
        let mut config = EngineConfig::of("qwen3-14b", Some("a100-40g-vllm-0.32")).unwrap();
        (config.model.context, config.model.context_limit) = (131_072, None);
        (config.model.rope, config.max_model_len) = (Some(yarn), Some(100_000));
        assert!(max_model_len(&config).is_err(), "more than the stated maximum");
    }
}
