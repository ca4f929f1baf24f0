//! Checks of limits that all versions of vLLM share.

use crate::config::EngineConfig;
use crate::error::EngineError;

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

/// Checks that a step has room for one token of each sequence.
pub(super) fn check_step(batched_tokens: u32, sequences: u32) -> Result<(), EngineError> {
    if sequences == 0 {
        return Err(EngineError::invalid("--max-num-seqs", 0, "must be at least 1"));
    }
    if batched_tokens < sequences {
        let expected = format!("must be at least --max-num-seqs, which is {sequences}");
        return Err(EngineError::invalid("--max-num-batched-tokens", batched_tokens, expected));
    }
    Ok(())
}
