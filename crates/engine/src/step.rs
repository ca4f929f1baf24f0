//! What steps of the engine give, and the engine's counts. Values only.

use std::time::Duration;

use crate::request::{Finish, RequestId};

/// What a step did to one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepOutput {
    /// The request.
    pub id: RequestId,
    /// Output tokens after the step.
    pub tokens_so_far: u32,
    /// Why it ended, if it did.
    pub finished: Option<Finish>,
}

/// The kind of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// Prompts were computed; each got its first token.
    Prompt,
    /// Every running sequence got a token.
    Decode,
    /// Parts of prompts were computed beside sequences that each got a token.
    Mixed,
}

/// One step: outputs appear when its duration is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// How long it takes.
    pub duration: Duration,
    /// Its kind.
    pub kind: StepKind,
    /// One entry per request that took part or was ignored.
    pub outputs: Vec<StepOutput>,
}

/// Decode steps in a row in which nothing changed but lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SteadySteps {
    /// How many; each gave each running sequence a token.
    pub steps: u32,
    /// How long they took together.
    pub duration: Duration,
}

/// The state of an engine, as its metrics show it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Sequences that hold KV blocks.
    pub running: u32,
    /// Sequences that wait.
    pub waiting: u32,
    /// KV blocks held.
    pub kv_blocks_used: u32,
    /// KV blocks of the engine.
    pub kv_blocks_total: u32,
    /// Preemptions so far.
    pub preemptions: u64,
    /// Prompt tokens of requests that got their first token so far.
    pub prompt_tokens: u64,
    /// Output tokens so far.
    pub generation_tokens: u64,
    /// Steps so far.
    pub steps: u64,
    /// Prompt tokens that were looked up in the prefix cache so far.
    pub prefix_queries: u64,
    /// Those of them that were found there, and not computed again.
    pub prefix_hits: u64,
}
