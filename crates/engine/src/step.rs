//! The results of the engine's steps, and the engine's counters. This file contains only data types.

use std::time::Duration;

use crate::{Finish, RequestId};

/// The result of a step for one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepOutput {
    /// The request.
    pub id: RequestId,
    /// The number of output tokens of the request after the step.
    pub tokens_so_far: u32,
    /// Prompt tokens that were found in the prefix cache; absent without such a cache.
    pub cached: Option<u32>,
    /// Why the request ended with this step; absent if it continues.
    pub finished: Option<Finish>,
}

/// The kind of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// Prompts were computed; each of their sequences got a token.
    Prompt,
    /// Each sequence of the step computed one token.
    Decode,
    /// Chunks of prompts were computed, alone or together with decoding sequences.
    Mixed,
}

/// One step. Its outputs are available when its duration is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The duration of the step.
    pub duration: Duration,
    /// The kind of the step.
    pub kind: StepKind,
    /// One entry for each request that got a token or was ignored.
    pub outputs: Vec<StepOutput>,
}

/// Consecutive decode steps in which only the lengths of sequences changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SteadySteps {
    /// The number of steps; each gave one token to each running sequence.
    pub steps: u32,
    /// The total duration of the steps.
    pub duration: Duration,
}

/// The state of an engine for its metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Sequences that hold KV blocks.
    pub running: u32,
    /// Waiting sequences.
    pub waiting: u32,
    /// KV blocks in use.
    pub kv_blocks_used: u32,
    /// The total number of KV blocks.
    pub kv_blocks_total: u32,
    /// Preemptions so far.
    pub preemptions: u64,
    /// Prompt tokens of all requests that have received their first token.
    pub prompt_tokens: u64,
    /// Output tokens so far.
    pub generation_tokens: u64,
    /// Steps so far.
    pub steps: u64,
    /// Tokens of the sequences that were admitted so far. Only engines with a prefix cache count them, also if the
    /// cache is off.
    pub prefix_queries: u64,
    /// The number of these tokens that were found in the prefix cache and not computed again.
    pub prefix_hits: u64,
}
