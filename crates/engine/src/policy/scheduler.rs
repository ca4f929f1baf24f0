//! The interface of a scheduler: which sequences take part in the next step, and what the engines
//! that schedule so have in common. A scheduler never counts time and never makes tokens.

use super::queues::{Queues, Sequence};
use crate::config::{EngineConfig, Limits};
use crate::error::EngineError;
use crate::profile::Profile;

/// What the next step does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Batch {
    /// The last `admitted` of the running sequences have their prompts computed and get a token.
    Prompt {
        /// How many; may be none where requests were only ignored.
        admitted: usize,
        /// Requests that can never run: they end here, with the tokens that they had before they
        /// were preempted, usually none.
        ignored: Vec<Sequence>,
    },
    /// Every running sequence gets a token.
    Decode,
    /// Each running sequence computes its [`Sequence::scheduled`] tokens; one whose tokens are
    /// then all computed gets another.
    Mixed {
        /// As of a prompt step.
        ignored: Vec<Sequence>,
    },
}

/// The scheduler of one line of engine versions.
pub trait Scheduler: Send + Sync {
    /// The engine and the versions that schedule so, for messages: `vllm 0.2.x`.
    fn versions(&self) -> &'static str;

    /// Whether this version of this engine schedules so.
    fn is_used_by(&self, engine: &str, version: &str) -> bool;

    /// The limits of a configuration; what is absent has the engine's default.
    ///
    /// # Errors
    /// The first limit that the engine would refuse.
    fn limits(&self, config: &EngineConfig) -> Result<Limits, EngineError>;

    /// The next step's batch, or nothing when there is nothing to do. Sequences move between the
    /// queues, and KV blocks are taken for every token that the step will store.
    fn schedule(&self, queues: &mut Queues) -> Option<Batch>;

    /// How many of the next steps, `most` at most, are decode steps of all that runs now, if
    /// nothing arrives and nothing ends. A lower bound: the true number may be higher.
    fn steady_steps(&self, queues: &Queues, most: u32) -> u32;

    /// Tokens, prompt and output, at which a sequence ends: one above the limit, unless an engine
    /// differs.
    fn max_sequence_tokens(&self, limits: Limits) -> u32 {
        limits.max_model_len + 1
    }

    /// Whether a step may compute a part of a prompt, beside sequences that decode.
    fn chunks_prefill(&self) -> bool {
        false
    }

    /// Whether a further step is scheduled while one runs.
    fn schedules_ahead(&self, _profile: &Profile) -> bool {
        false
    }

    /// Whether the engine can share the KV blocks of equal prefixes of prompts.
    fn supports_prefix_caching(&self) -> bool {
        false
    }

    /// Whether the engine can split the layers into pipeline stages.
    fn supports_pipeline_stages(&self) -> bool {
        true
    }

    /// Whether the engine refuses to start when its KV cache cannot hold one sequence of
    /// `--max-model-len` tokens.
    fn requires_kv_of_one_sequence(&self) -> bool {
        false
    }

    /// Whether `/metrics` has the names of vLLM since 0.8 instead of those before.
    fn has_v1_metrics(&self) -> bool {
        false
    }

    /// `--gpu-memory-utilization` where none is given.
    fn default_gpu_memory_utilization(&self) -> f64 {
        0.9
    }
}
