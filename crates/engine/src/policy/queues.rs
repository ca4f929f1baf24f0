//! The state that a scheduler works on: sequences, the waiting and the running queue, KV memory. This file does not
//! decide which sequences run; the schedulers do.

use std::collections::VecDeque;

use crate::{Finish, Limits, RequestId, kv::BlockManager, prefix_cache::Prefix};

/// A request inside the engine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sequence {
    /// The caller's id of the request.
    pub id: RequestId,
    /// The number of prompt tokens.
    pub prompt: u32,
    /// The number of output tokens so far.
    pub generated: u32,
    /// The maximum number of output tokens that the request allows.
    pub max_tokens: u32,
    /// The number of output tokens after which the model ends the text, if less than `max_tokens`.
    pub ends_after: u32,
    /// The number of KV blocks that the sequence holds.
    pub blocks: u32,
    /// The number of tokens whose keys and values are in memory. Only engines with chunked prefill use this number.
    pub computed: u32,
    /// The number of tokens that were found in the prefix cache when the request was first admitted; absent before, and
    /// without such a cache.
    pub cached: Option<u32>,
    /// The number of tokens that the current step computes. Only engines with chunked prefill use this number.
    pub scheduled: u32,
    /// The hashed blocks of the prompt; absent if the engine has no prefix cache or the request has no hashes.
    pub prefix: Option<Box<Prefix>>,
}

impl Sequence {
    /// A waiting sequence that requests one output token.
    pub fn new(id: RequestId, prompt: u32) -> Self {
        Self { id, prompt, max_tokens: 1, ends_after: 1, ..Self::default() }
    }

    /// The number of tokens so far, prompt and output together.
    #[inline]
    pub fn tokens(&self) -> u32 {
        self.prompt + self.generated
    }

    /// The number of remaining output tokens. A sequence ends at the latest when it has `max_sequence_tokens` tokens,
    /// prompt and output together.
    #[inline]
    pub fn remaining(&self, max_sequence_tokens: u32) -> u32 {
        let requested = self.max_tokens.min(self.ends_after) - self.generated;
        requested.min(max_sequence_tokens - self.tokens())
    }

    /// Why the sequence ends with its current tokens; `None` if it continues.
    #[inline]
    pub fn finish(&self, max_sequence_tokens: u32) -> Option<Finish> {
        let is_stopped = self.tokens() >= max_sequence_tokens || self.generated >= self.ends_after;
        match self.generated >= self.max_tokens {
            true => Some(Finish::Length),
            false => is_stopped.then_some(Finish::Stop),
        }
    }
}

/// The state that a scheduler works on.
#[derive(Clone, Debug)]
pub struct Queues {
    /// Sequences that are not admitted yet, or were preempted. The front sequence is admitted next.
    pub waiting: VecDeque<Sequence>,
    /// Sequences that hold KV blocks, in the order of their arrival.
    pub running: Vec<Sequence>,
    /// The number of sequences that end with the current step. They are not in `running`, but count towards the limit
    /// of running sequences until the step ends.
    pub leaving: usize,
    /// The KV memory.
    pub kv: BlockManager,
    /// The limits that the engine's configuration sets.
    pub limits: Limits,
    /// The number of preemptions so far.
    pub preemptions: u64,
    /// The number of decode steps since the last prompt step.
    pub decodes_since_prompt: u32,
    /// The number of tokens of the sequences that were admitted so far; 0 if there is no prefix cache or it is off.
    pub prefix_queries: u64,
    /// The number of these tokens that were found in the prefix cache.
    pub prefix_hits: u64,
}

impl Queues {
    /// Empty queues.
    pub fn new(kv: BlockManager, limits: Limits) -> Self {
        Self {
            waiting: VecDeque::new(),
            running: Vec::new(),
            leaving: 0,
            kv,
            limits,
            preemptions: 0,
            decodes_since_prompt: 0,
            prefix_queries: 0,
            prefix_hits: 0,
        }
    }

    /// Frees the KV blocks of a sequence and returns the sequence. The caller must have removed it from its queue.
    pub fn release(&mut self, mut sequence: Sequence) -> Sequence {
        let blocks = std::mem::take(&mut sequence.blocks);
        match &mut sequence.prefix {
            Some(prefix) => self.kv.release_prefix(prefix, blocks),
            None => self.kv.release(blocks),
        }
        sequence
    }

    /// Preempts a running sequence, to compute it again later: frees its KV blocks and puts it at the
    /// front of the waiting queue. The caller must have removed the sequence from `running`.
    pub fn preempt(&mut self, victim: Sequence) {
        let mut victim = self.release(victim);
        (victim.computed, victim.scheduled) = (0, 0);
        self.waiting.push_front(victim);
        self.preemptions += 1;
    }
}
