//! Scheduler policies: which sequences take part in the next step. A policy decides; it never
//! counts time and never makes tokens. Each engine's is a file of its own.

mod tgi_1_3;
mod vllm_02;
mod vllm_v1;

use std::collections::VecDeque;

use crate::config::Limits;
use crate::engine::RequestId;
use crate::error::EngineError;
use crate::kv::BlockManager;
use crate::prefix_cache::Prefix;
use crate::profile::Profile;

pub use tgi_1_3::Tgi13;
pub use vllm_02::Vllm02;
pub use vllm_v1::VllmV1;

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
    /// Tokens whose keys and values are in memory, of engines that compute prompts in parts.
    pub computed: u32,
    /// Tokens that the step under way computes, of the same.
    pub scheduled: u32,
    /// The blocks of its prompt by their contents, where the engine shares them.
    pub prefix: Option<Box<Prefix>>,
}

impl Sequence {
    /// A sequence of a prompt that is to get one token.
    #[must_use]
    pub fn new(id: RequestId, prompt: u32) -> Self {
        Self {
            id,
            prompt,
            generated: 0,
            max_tokens: 1,
            ends_after: 1,
            blocks: 0,
            computed: 0,
            scheduled: 0,
            prefix: None,
        }
    }

    /// Tokens, prompt and output.
    #[must_use]
    pub fn tokens(&self) -> u32 {
        self.prompt + self.generated
    }

    /// Tokens that it still gets where it ends with `most_tokens`, prompt and output.
    #[must_use]
    pub fn remaining(&self, most_tokens: u32) -> u32 {
        (self.max_tokens.min(self.ends_after) - self.generated).min(most_tokens - self.tokens())
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
    /// Tokens of prompts let in so far that were looked for in memory, and those found.
    pub prefix_queries: u64,
    /// See there.
    pub prefix_hits: u64,
}

impl Queues {
    /// Empty queues.
    #[must_use]
    pub fn new(kv: BlockManager, limits: Limits) -> Self {
        Self {
            waiting: VecDeque::new(),
            running: Vec::new(),
            kv,
            limits,
            preemptions: 0,
            decodes_since_prompt: 0,
            prefix_queries: 0,
            prefix_hits: 0,
        }
    }

    /// Gives back all that a sequence which is in no queue any more holds.
    pub fn release(&mut self, mut sequence: Sequence) -> Sequence {
        let blocks = std::mem::take(&mut sequence.blocks);
        match &mut sequence.prefix {
            Some(prefix) => self.kv.release_shared(prefix, blocks),
            None => self.kv.release(blocks),
        }
        sequence
    }

    /// A sequence that ran goes back to the front of the queue, to be computed again.
    pub fn evict(&mut self, victim: Sequence) {
        let mut victim = self.release(victim);
        (victim.computed, victim.scheduled) = (0, 0);
        self.waiting.push_front(victim);
        self.preemptions += 1;
    }
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
    /// Each running sequence has so many tokens computed as it says of itself; one whose tokens are
    /// then all computed gets another.
    Mixed {
        /// As of a prompt step.
        ignored: Vec<Sequence>,
    },
}

/// Decides what runs.
pub trait Policy: Send + Sync {
    /// The next step's batch, or nothing when there is nothing to do. Sequences move between the
    /// queues, and KV blocks are taken for every token that the step will store.
    fn schedule(&self, queues: &mut Queues) -> Option<Batch>;

    /// How many of the next steps, `most` at most, are decode steps of all that runs now, if
    /// nothing arrives and nothing ends. It may say fewer than there are.
    fn steady_steps(&self, queues: &Queues, most: u32) -> u32;

    /// Tokens, prompt and output, with which a sequence ends: one above the limit, unless an engine
    /// says otherwise.
    fn most_tokens(&self, limits: Limits) -> u32 {
        limits.max_model_len + 1
    }
}

/// Which scheduler an engine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// [`Vllm02`]
    Vllm02,
    /// [`VllmV1`]
    VllmV1,
    /// [`Tgi13`]
    Tgi13,
}

impl Scheduler {
    /// Its rules.
    #[must_use]
    pub fn policy(self) -> Box<dyn Policy> {
        match self {
            Self::Vllm02 => Box::new(Vllm02),
            Self::VllmV1 => Box::new(VllmV1),
            Self::Tgi13 => Box::new(Tgi13),
        }
    }
}

/// The scheduler of a profile's engine.
///
/// # Errors
/// When there is none for that engine and version.
pub fn scheduler(profile: &Profile) -> Result<Scheduler, EngineError> {
    match (profile.engine.as_str(), profile.engine_version.as_str()) {
        ("vllm", version) if version.starts_with("0.2.") => Ok(Scheduler::Vllm02),
        ("vllm", version) if is_v1(version) => Ok(Scheduler::VllmV1),
        ("tgi", version) if version.starts_with("1.3.") => Ok(Scheduler::Tgi13),
        (engine, version) => Err(EngineError::UnknownEngine {
            profile: profile.name.clone(),
            engine: engine.to_owned(),
            version: version.to_owned(),
        }),
    }
}

/// Whether a version of vLLM has the scheduler that 0.8 made the usual one.
fn is_v1(version: &str) -> bool {
    let mut parts = version.split('.').map(|part| part.parse::<u32>().ok());
    match (parts.next().flatten(), parts.next().flatten()) {
        (Some(0), Some(minor)) => minor >= 8,
        (Some(major), _) => major >= 1,
        (None, _) => false,
    }
}
