//! Checks of limits that all versions of vLLM share.

use crate::{EngineConfig, EngineError};

/// Returns `--max-model-len`, by default the context length of the model.
pub(super) fn max_model_len(config: &EngineConfig) -> Result<u32, EngineError> {
    let model = &config.model;
    let limit = model.context_limit.unwrap_or(model.context);
    match config.max_model_len {
        None => Ok(model.context),
        Some(0) => Err(EngineError::invalid("--max-model-len", 0, "must be at least 1 token")),
        Some(length) if length > limit => {
            let expected = format!("{} accepts sequences of at most {limit} tokens", model.name);
            Err(EngineError::invalid("--max-model-len", length, expected))
        }
        Some(length) => Ok(length),
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
