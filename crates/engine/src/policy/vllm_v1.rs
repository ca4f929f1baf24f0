//! The scheduler of vLLM 0.8 and later ("V1"): each step has a token budget. Running sequences are served first, in
//! order of arrival, mostly with one token each. The rest of the budget goes to waiting prompts. A prompt that is
//! longer than the rest is computed in chunks. Cached prefixes of prompts are not computed again. If KV blocks run out,
//! the sequence that arrived last is preempted and recomputed later.
//!
//! `crate::engine` implements scheduling ahead. Priorities, speculative decoding and KV transfers are not modelled.

use super::queues::{Queues, Sequence};
use super::scheduler::{Batch, Scheduler};
use super::{vllm_limits, vllm_v1_defaults};
use crate::{EngineConfig, EngineError, Limits, Profile, prefix_cache::CacheHit};

/// The scheduler of vLLM from 0.8 on (`vllm/v1/core/sched/scheduler.py`).
#[derive(Clone, Copy, Debug)]
pub(super) struct VllmV1;

impl Scheduler for VllmV1 {
    fn versions(&self) -> &'static str {
        "vllm from 0.8 on"
    }

    /// Version 0.8 made this scheduler the default.
    fn is_used_by(&self, engine: &str, version: &str) -> bool {
        let mut parts = version.split('.').map(|part| part.parse::<u32>().ok());
        engine == "vllm"
            && match (parts.next().flatten(), parts.next().flatten()) {
                (Some(0), Some(minor)) => minor >= 8,
                (Some(major), _) => major >= 1,
                (None, _) => false,
            }
    }

    /// A step may contain a part of a prompt, and has no padding.
    fn limits(&self, config: &EngineConfig) -> Result<Limits, EngineError> {
        if let Some(paddings) = config.max_paddings {
            let expected = "steps of this engine have no padding; omit this option";
            return Err(EngineError::invalid("--max-paddings", paddings, expected));
        }
        let is_of_today = config.profile.steps.is_some();
        let (sequences, tokens) =
            vllm_v1_defaults::limits(&config.profile, &config.profile.card()?);
        let max_num_seqs = config.max_num_seqs.unwrap_or(sequences);
        let default_tokens = tokens.max(max_num_seqs);
        let max_num_batched_tokens = config.max_num_batched_tokens.unwrap_or(default_tokens);
        vllm_limits::check_step(config, max_num_batched_tokens, max_num_seqs)?;
        let mut config = config.clone();
        if is_of_today && config.max_model_len.is_none() {
            // The engine uses the model's own limit. It does not start if its KV memory cannot hold a sequence of this
            // length.
            config.max_model_len = config.model.context_limit;
        }
        let max_model_len = vllm_limits::max_model_len(&config)?;
        let max_prompt_part = config.long_prefill_token_threshold.filter(|&tokens| tokens > 0);
        Ok(Limits {
            max_model_len,
            max_num_seqs,
            max_num_batched_tokens,
            max_paddings: 0,
            max_prompt_part: max_prompt_part.unwrap_or(u32::MAX),
            // Without the reservation, the engine would repeatedly begin and preempt a long prompt that does not fit.
            // Under profiles without step constants, there is no reservation. A preempted prompt then loses little if
            // the blocks of its computed part remain cached.
            reserves_prompts: is_of_today,
        })
    }

    fn chunks_prefill(&self) -> bool {
        true
    }

    fn schedules_ahead(&self, profile: &Profile) -> bool {
        vllm_v1_defaults::schedules_ahead(profile)
    }

    fn supports_prefix_caching(&self) -> bool {
        true
    }

    fn requires_kv_of_one_sequence(&self) -> bool {
        true
    }

    fn has_v1_metrics(&self) -> bool {
        true
    }

    fn max_sequence_tokens(&self, limits: Limits) -> u32 {
        limits.max_model_len
    }

    fn schedule(&self, queues: &mut Queues) -> Option<Batch> {
        let ignored = too_long(queues);
        let most = queues.limits.max_num_batched_tokens;
        let mut budget = most;
        // A step with a preemption admits no prompt.
        if serve_running(queues, &mut budget) {
            while let Some(first) = admissible(queues, budget) {
                budget -= first.tokens;
                admit(queues, first);
            }
        }
        let has_work = !ignored.is_empty() || budget < most;
        has_work.then_some(Batch::Mixed { ignored })
    }

    fn steady_steps(&self, queues: &Queues, most: u32) -> u32 {
        let running = &queues.running;
        // The last token of a prompt may be computed in a separate step. This step generates the first output token, so
        // it does not count here.
        let decoding = |sequence: &Sequence| {
            sequence.generated > 0 && sequence.computed + 1 == sequence.tokens()
        };
        let budget = queues.limits.max_num_batched_tokens.checked_sub(running.len() as u32);
        let Some(budget) = budget.filter(|_| running.iter().all(decoding)) else { return 0 };
        let first = queues.waiting.front();
        let frees_some =
            |it: &Sequence| queues.kv.frees_some(it.prefix.as_deref(), it.blocks, it.tokens());
        if running.iter().any(frees_some) {
            return 0;
        }
        // A prompt that is not admitted now will not be admitted while the number of free blocks only decreases.
        if first.is_some_and(|first| first.tokens() >= queues.limits.max_model_len)
            || admissible(queues, budget).is_some()
        {
            return 0;
        }
        queues.kv.steps_with_room(running.iter().map(Sequence::tokens), most, 0)
    }
}

/// Removes prompts at the front of the waiting queue that leave no room for an output token; vLLM's front end rejects
/// such prompts.
fn too_long(queues: &mut Queues) -> Vec<Sequence> {
    let mut ignored = Vec::new();
    let limit = queues.limits.max_model_len;
    while queues.waiting.front().is_some_and(|first| first.tokens() >= limit) {
        ignored.extend(queues.waiting.pop_front());
    }
    ignored
}

/// Schedules running sequences in order of arrival, within the token budget. Returns whether there were enough KV
/// blocks without a preemption.
fn serve_running(queues: &mut Queues, budget: &mut u32) -> bool {
    let mut served = 0;
    let mut has_blocks = true;
    while served < queues.running.len() && *budget > 0 {
        let sequence = &mut queues.running[served];
        let left = sequence.tokens() - sequence.computed;
        let tokens = left.min(queues.limits.max_prompt_part).min(*budget);
        let until = sequence.computed + tokens;
        if queues.kv.free() >= queues.kv.needed((until, tokens)).saturating_sub(sequence.blocks) {
            queues.kv.hold(sequence.prefix.as_deref(), &mut sequence.blocks, (until, tokens));
            sequence.scheduled = tokens;
            *budget -= tokens;
            served += 1;
        } else {
            // If no later sequence is left, the sequence itself is preempted.
            let victim = queues.running.pop().expect("invariant: one is still unserved");
            queues.preempt(victim);
            has_blocks = false;
        }
    }
    queues.running[served..].iter_mut().for_each(|sequence| sequence.scheduled = 0);
    has_blocks
}

/// The part of the first waiting sequence that a step computes.
#[derive(Clone, Copy)]
struct Admission {
    /// The number of cached blocks at the start of the prompt.
    cached_blocks: u32,
    /// The number of tokens that are computed after the cached ones.
    tokens: u32,
}

/// The part of the first waiting sequence that fits into the rest of the step; `None` if no sequence waits or the first
/// one cannot be admitted.
fn admissible(queues: &Queues, budget: u32) -> Option<Admission> {
    let first = queues.waiting.front()?;
    let limits = queues.limits;
    let is_too_long = first.tokens() >= limits.max_model_len;
    if budget == 0
        || is_too_long
        || queues.running.len() + queues.leaving >= limits.max_num_seqs as usize
    {
        return None;
    }
    let kv = &queues.kv;
    // At least one token must be computed, because its logits are needed.
    let most = ((first.tokens() - 1) / kv.block_size()).min(kv.needed((first.tokens(), 1)));
    let prefix = first.prefix.as_ref();
    let CacheHit { blocks, idle } =
        prefix.map_or_else(CacheHit::default, |prefix| kv.cached(prefix, most));
    let computed = blocks * kv.block_size();
    let tokens = (first.tokens() - computed).min(limits.max_prompt_part).min(budget);
    let until = if limits.reserves_prompts { first.tokens() } else { computed + tokens };
    let scheduled = until.min(limits.max_num_batched_tokens);
    let needed = kv.needed((until, scheduled)).saturating_sub(blocks) + idle;
    (kv.free() >= needed).then_some(Admission { cached_blocks: blocks, tokens })
}

fn admit(queues: &mut Queues, Admission { cached_blocks, tokens }: Admission) {
    let mut sequence = queues.waiting.pop_front().expect("invariant: a sequence waits");
    if let Some(prefix) = &mut sequence.prefix {
        queues.kv.acquire_cached(prefix, cached_blocks);
    }
    sequence.blocks = cached_blocks;
    sequence.computed = cached_blocks * queues.kv.block_size();
    sequence.scheduled = tokens;
    if queues.kv.has_prefix_cache() {
        queues.prefix_queries += u64::from(sequence.tokens());
        queues.prefix_hits += u64::from(sequence.computed);
        sequence.cached.get_or_insert(sequence.computed);
    }
    let until = sequence.computed + tokens;
    queues.kv.hold(sequence.prefix.as_deref(), &mut sequence.blocks, (until, tokens));
    queues.running.push(sequence);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kv::BlockManager;
    use crate::prefix_cache::{Prefix, block_hashes};
    use crate::request::RequestId;

    fn queues(blocks: u32, prompts: &[u32]) -> Queues {
        let waiting = prompts.iter().zip(0..).map(|(&prompt, id)| Sequence {
            max_tokens: 100,
            ends_after: 100,
            ..Sequence::new(RequestId(id), prompt)
        });
        let limits = Limits {
            max_model_len: 1024,
            max_num_seqs: 4,
            max_num_batched_tokens: 256,
            max_paddings: 0,
            max_prompt_part: u32::MAX,
            reserves_prompts: false,
        };
        let mut queues = Queues::new(BlockManager::new(blocks, 16).with_prefix_cache(), limits);
        queues.waiting = waiting.collect();
        queues
    }

    /// Executes one step. Returns the id of each running sequence and the tokens that it computes.
    fn step(queues: &mut Queues) -> Vec<(u64, u32)> {
        VllmV1.schedule(queues).expect("something to do");
        let given = queues.running.iter().filter(|s| s.scheduled > 0);
        let given = given.map(|s| (s.id.0, s.scheduled)).collect();
        for sequence in &mut queues.running {
            sequence.computed += sequence.scheduled;
            if let Some(prefix) = &mut sequence.prefix {
                queues.kv.cache_computed(prefix, sequence.computed, sequence.blocks);
            }
            if sequence.scheduled > 0 && sequence.computed == sequence.tokens() {
                sequence.generated += 1;
            }
        }
        given
    }

    #[test]
    fn decodes_are_scheduled_first_and_prompt_chunks_fill_the_token_budget() {
        let mut queues = queues(1000, &[100, 400, 30]);
        assert_eq!(step(&mut queues), [(0, 100), (1, 156)]);
        assert_eq!(step(&mut queues), [(0, 1), (1, 244), (2, 11)]);
        assert_eq!(step(&mut queues), [(0, 1), (1, 1), (2, 19)]);
        assert_eq!(step(&mut queues), [(0, 1), (1, 1), (2, 1)]);
        assert_eq!(VllmV1.steady_steps(&queues, 50), 50);
    }

    #[test]
    fn a_long_prompt_gets_at_most_its_threshold_of_tokens_per_step() {
        let mut queues = queues(1000, &[300, 30]);
        queues.limits.max_prompt_part = 128;
        assert_eq!(step(&mut queues), [(0, 128), (1, 30)]);
        assert_eq!(step(&mut queues), [(0, 128), (1, 1)]);
        assert_eq!(step(&mut queues), [(0, 44), (1, 1)]);
    }

    #[test]
    fn a_prompt_with_reservation_starts_only_if_all_of_it_fits_into_memory() {
        let mut queues = queues(30, &[200, 400]);
        queues.limits.reserves_prompts = true;
        assert_eq!(step(&mut queues), [(0, 200)]);
        assert_eq!(step(&mut queues), [(0, 1)]);
        queues.limits.reserves_prompts = false;
        assert_eq!(step(&mut queues), [(0, 1), (1, 255)]);
    }

    #[test]
    fn leaving_sequences_occupy_their_slots_until_the_step_ends() {
        let mut queues = queues(1000, &[10, 10, 10, 10, 10]);
        queues.leaving = 2;
        assert_eq!(step(&mut queues).len(), 2);
        queues.leaving = 0;
        assert_eq!(step(&mut queues).len(), 4);
    }

    #[test]
    fn sequences_are_admitted_in_order_of_arrival_up_to_the_limit() {
        let mut queues = queues(1000, &[10, 10, 10, 10, 10]);
        assert_eq!(step(&mut queues).len(), 4);
        assert_eq!((queues.waiting.len(), queues.waiting[0].id.0), (1, 4));
        assert_eq!(VllmV1.steady_steps(&queues, 9), 9, "the waiting sequence is not admitted");
    }

    #[test]
    fn a_sequence_that_waits_for_blocks_is_not_overtaken() {
        let mut queues = queues(12, &[100, 200, 10]);
        assert_eq!(step(&mut queues), [(0, 100)]);
        assert_eq!(queues.waiting[0].id.0, 1);
    }

    #[test]
    fn without_a_free_block_the_last_arrived_sequence_is_preempted() {
        let mut queues = queues(4, &[32, 32]);
        step(&mut queues);
        assert_eq!(step(&mut queues), [(0, 1)]);
        assert_eq!((queues.preemptions, queues.waiting[0].id.0), (1, 1));
        assert_eq!((queues.waiting[0].computed, queues.waiting[0].blocks), (0, 0));
        assert_eq!(queues.waiting[0].tokens(), 33);
    }

    #[test]
    fn a_cached_prefix_is_not_computed_again() {
        let mut queues = queues(100, &[64, 64]);
        let tokens: Vec<u32> = (0..64).collect();
        for sequence in &mut queues.waiting {
            sequence.prefix = Prefix::new(block_hashes(&tokens, 16));
        }
        let second = queues.waiting.pop_back();
        assert_eq!(step(&mut queues), [(0, 64)]);
        queues.waiting.extend(second);
        // Three of the four blocks are reused. The last block is computed again, because the logits of its last token
        // are needed.
        assert_eq!(step(&mut queues), [(0, 1), (1, 16)]);
        assert_eq!((queues.prefix_queries, queues.prefix_hits), (128, 48));
        assert_eq!(queues.kv.used(), 4 + 1 + 1, "three blocks are shared");
        let victim = queues.running.remove(0);
        queues.release(victim);
        assert_eq!(queues.kv.used(), 4);
    }

    #[test]
    fn a_prompt_that_leaves_no_room_for_an_output_token_is_ignored() {
        let mut queues = queues(1000, &[10, 1024, 10]);
        assert_eq!(step(&mut queues), [(0, 10)]);
        match VllmV1.schedule(&mut queues) {
            Some(Batch::Mixed { ignored }) => assert_eq!(ignored[0].id.0, 1),
            other => panic!("{other:?}"),
        }
        assert_eq!(queues.running[1].id.0, 2);
    }
}
