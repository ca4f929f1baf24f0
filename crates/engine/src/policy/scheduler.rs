//! The interface of a scheduler: which sequences take part in the next step, and the properties of the engines that use
//! it. A scheduler never counts time and never generates tokens.

use super::queues::{Queues, Sequence};
use crate::{EngineConfig, EngineError, Limits, Profile};

/// What the next step does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Batch {
    /// The prompts of the last `admitted` running sequences are computed; each of these sequences gets a token.
    Prompt {
        /// The number of admitted sequences; 0 if requests were only ignored.
        admitted: usize,
        /// Requests that can never run. They end in this step. A request that was preempted before has the output
        /// tokens from before the preemption; all others have none.
        ignored: Vec<Sequence>,
    },
    /// Every running sequence gets a token.
    Decode,
    /// Each running sequence computes its [`Sequence::scheduled`] tokens. If all tokens of a sequence are then
    /// computed, the sequence gets another token.
    Mixed {
        /// Requests that can never run, as in [`Batch::Prompt`].
        ignored: Vec<Sequence>,
    },
}

/// The scheduler of a series of engine versions.
pub trait Scheduler: Send + Sync {
    /// The engine and its versions that use this scheduler, for messages: `vllm 0.2.x`.
    fn versions(&self) -> &'static str;

    /// Whether this version of this engine uses this scheduler.
    fn is_used_by(&self, engine: &str, version: &str) -> bool;

    /// The limits of a configuration, with the engine's defaults for absent ones.
    ///
    /// # Errors
    /// The first limit that the engine would reject.
    fn limits(&self, config: &EngineConfig) -> Result<Limits, EngineError>;

    /// Schedules the next step's batch; `None` if there is nothing to do. It moves sequences between the queues, and
    /// allocates KV blocks for every token that the step will store.
    fn schedule(&self, queues: &mut Queues) -> Option<Batch>;

    /// Returns how many of the next steps are decode steps of all running sequences, at most `most`. It is assumed that
    /// no request arrives or ends. The result is a lower bound; the true number may be higher.
    fn steady_steps(&self, queues: &Queues, most: u32) -> u32;

    /// The number of tokens, prompt and output together, at which a sequence ends. By default it is `max_model_len` +
    /// 1.
    fn max_sequence_tokens(&self, limits: Limits) -> u32 {
        limits.max_model_len + 1
    }

    /// Whether a step may compute a part of a prompt together with decoding sequences.
    fn chunks_prefill(&self) -> bool {
        false
    }

    /// Whether the engine schedules the next step while a step runs.
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

    /// Whether the engine refuses to start if its KV cache cannot hold one sequence of `--max-model-len` tokens.
    fn requires_kv_of_one_sequence(&self) -> bool {
        false
    }

    /// Whether `/metrics` has the names of vLLM 0.8 and later.
    fn has_v1_metrics(&self) -> bool {
        false
    }

    /// The default of `--gpu-memory-utilization`.
    fn default_gpu_memory_utilization(&self) -> f64 {
        0.9
    }
}
