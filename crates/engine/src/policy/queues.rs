//! The state that a scheduler works on: sequences, the waiting and the running queue, KV memory.
//! Never decides what runs.

use std::collections::VecDeque;

use crate::config::Limits;
use crate::kv::BlockManager;
use crate::prefix_cache::Prefix;
use crate::request::RequestId;

/// A request inside the engine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sequence {
    /// The request.
    pub id: RequestId,
    /// Prompt tokens.
    pub prompt: u32,
    /// Output tokens so far.
    pub generated: u32,
    /// Output tokens that were requested at most.
    pub max_tokens: u32,
    /// Output tokens after which the text ends by itself, if that is less.
    pub ends_after: u32,
    /// KV blocks held.
    pub blocks: u32,
    /// Tokens whose keys and values are in memory; used by engines with chunked prefill.
    pub computed: u32,
    /// Tokens that the current step computes; used by engines with chunked prefill.
    pub scheduled: u32,
    /// The hashed blocks of its prompt, where the engine caches prefixes.
    pub prefix: Option<Box<Prefix>>,
}

impl Sequence {
    /// A waiting sequence that requests one output token.
    pub fn new(id: RequestId, prompt: u32) -> Self {
        Self { id, prompt, max_tokens: 1, ends_after: 1, ..Self::default() }
    }

    /// Tokens, prompt and output.
    pub fn tokens(&self) -> u32 {
        self.prompt + self.generated
    }

    /// Output tokens that it still gets when sequences end at `max_sequence_tokens`, prompt and
    /// output.
    pub fn remaining(&self, max_sequence_tokens: u32) -> u32 {
        let requested = self.max_tokens.min(self.ends_after) - self.generated;
        requested.min(max_sequence_tokens - self.tokens())
    }
}

/// What a scheduler works on.
#[derive(Clone, Debug)]
pub struct Queues {
    /// Not yet admitted, or preempted; the front is next.
    pub waiting: VecDeque<Sequence>,
    /// Holding KV blocks, in order of arrival.
    pub running: Vec<Sequence>,
    /// The KV memory.
    pub kv: BlockManager,
    /// Limits of the configuration.
    pub limits: Limits,
    /// Preemptions so far.
    pub preemptions: u64,
    /// Decode steps since the last prompt step.
    pub decodes_since_prompt: u32,
    /// Prompt tokens of admitted sequences that were looked up in the prefix cache so far.
    pub prefix_queries: u64,
    /// Those of them that were found there.
    pub prefix_hits: u64,
}

impl Queues {
    /// Empty queues.
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

    /// Frees the KV blocks of a sequence that was taken out of its queue.
    pub fn release(&mut self, mut sequence: Sequence) -> Sequence {
        let blocks = std::mem::take(&mut sequence.blocks);
        match &mut sequence.prefix {
            Some(prefix) => self.kv.release_prefix(prefix, blocks),
            None => self.kv.release(blocks),
        }
        sequence
    }

    /// Preempts a running sequence by recomputation: it frees its KV blocks and goes back to the
    /// front of the waiting queue.
    pub fn preempt(&mut self, victim: Sequence) {
        let mut victim = self.release(victim);
        (victim.computed, victim.scheduled) = (0, 0);
        self.waiting.push_front(victim);
        self.preemptions += 1;
    }
}
