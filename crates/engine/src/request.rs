//! A request to the engine: its id, its lengths, and why it ended. This file contains only data types.

/// The caller's id of a request; unique among the requests in the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(pub u64);

/// The numbers of tokens of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lengths {
    /// Prompt tokens.
    pub prompt: u32,
    /// The maximum number of output tokens that the request allows.
    pub max_tokens: u32,
    /// The number of output tokens after which the model ends the text, if less than `max_tokens`.
    pub ends_after: u32,
}

impl From<(u32, u32)> for Lengths {
    /// Converts (prompt tokens, output tokens); the model does not end the text earlier.
    fn from((prompt, max_tokens): (u32, u32)) -> Self {
        Self { prompt, max_tokens, ends_after: max_tokens }
    }
}

/// The properties of a request that the engine uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineRequest {
    /// The numbers of prompt and output tokens.
    pub lengths: Lengths,
    /// One hash for each complete block of the prompt ([`crate::prefix_cache::block_hashes`]). The list may be empty if
    /// the prompt shares no prefix with other prompts.
    pub block_hashes: Vec<u64>,
}

impl<L: Into<Lengths>> From<L> for EngineRequest {
    fn from(lengths: L) -> Self {
        Self { lengths: lengths.into(), block_hashes: Vec::new() }
    }
}

/// Why a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The output has the requested number of tokens.
    Length,
    /// Prompt and output reached the engine's limit (`--max-model-len`), or the model ended the text.
    Stop,
    /// The request can never run, or cannot run again after a preemption. Usually it has no output.
    Ignored,
}
