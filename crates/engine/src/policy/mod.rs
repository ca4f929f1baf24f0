//! Scheduler policies: which sequences take part in the next step. A policy decides; it never
//! counts time and never makes tokens. Each engine's is a file of its own.

mod tgi_1_3;
mod vllm_02;

use std::collections::VecDeque;

use crate::config::Limits;
use crate::engine::RequestId;
use crate::error::EngineError;
use crate::kv::BlockManager;
use crate::profile::Profile;

pub use tgi_1_3::Tgi13;
pub use vllm_02::Vllm02;

/// A request inside of the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// Whose it is.
    pub id: RequestId,
    /// Tokens of its prompt.
    pub prompt: u32,
    /// Tokens made so far.
    pub generated: u32,
    /// Tokens that were asked for.
    pub max_tokens: u32,
    /// Tokens after which it ends by itself, if that is less.
    pub ends_after: u32,
    /// KV blocks that it holds.
    pub blocks: u32,
}

impl Sequence {
    /// Tokens, prompt and output.
    #[must_use]
    pub fn tokens(&self) -> u32 {
        self.prompt + self.generated
    }

    /// Tokens that it still gets under this limit.
    #[must_use]
    pub fn remaining(&self, max_model_len: u32) -> u32 {
        (self.max_tokens.min(self.ends_after) - self.generated)
            .min(max_model_len + 1 - self.tokens())
    }
}

/// What a policy works on.
#[derive(Clone, Debug)]
pub struct Queues {
    /// Not yet let in, or evicted; the front is next.
    pub waiting: VecDeque<Sequence>,
    /// Holding KV blocks, in order of arrival.
    pub running: Vec<Sequence>,
    /// The KV memory.
    pub kv: BlockManager,
    /// What must be kept.
    pub limits: Limits,
    /// Sequences evicted so far.
    pub preemptions: u64,
    /// Decode steps since the last prompt step.
    pub decodes_since_prompt: u32,
}

/// What the next step does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Batch {
    /// The last `admitted` of the running sequences have their prompts computed and get a token.
    Prompt {
        /// How many; may be none where requests were only ignored.
        admitted: usize,
        /// Requests that can never run: they end here, with the tokens that they had before they
        /// were evicted, usually none.
        ignored: Vec<Sequence>,
    },
    /// Every running sequence gets a token.
    Decode,
}

/// Decides what runs.
pub trait Policy: Send + Sync {
    /// The next step's batch, or nothing when there is nothing to do. Sequences move between the
    /// queues, and KV blocks are taken for every token that the step will store.
    fn schedule(&self, queues: &mut Queues) -> Option<Batch>;

    /// How many of the next steps, `most` at most, are decode steps of all that runs now, if
    /// nothing arrives and nothing ends. It may say fewer than there are.
    fn steady_steps(&self, queues: &Queues, most: u32) -> u32;
}

/// The policy of a profile's engine.
///
/// # Errors
/// When there is none for that engine and version.
pub fn policy(profile: &Profile) -> Result<Box<dyn Policy>, EngineError> {
    match (profile.engine.as_str(), profile.engine_version.as_str()) {
        ("vllm", version) if version.starts_with("0.2.") => Ok(Box::new(Vllm02)),
        ("tgi", version) if version.starts_with("1.3.") => Ok(Box::new(Tgi13)),
        (engine, version) => Err(EngineError::UnknownEngine {
            profile: profile.name.clone(),
            engine: engine.to_owned(),
            version: version.to_owned(),
        }),
    }
}
