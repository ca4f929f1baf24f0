//! The scheduler of vLLM 0.2.x. Prompts come first, in separate steps. A decode step contains all running sequences. If
//! KV blocks run out, sequences are preempted and recomputed later.
//!
//! Swapping to host memory is not modelled, because it occurs only for requests with several sequences.

use super::queues::{Queues, Sequence};
use super::scheduler::{Batch, Scheduler};
use super::vllm_limits;
use crate::{EngineConfig, EngineError, Limits, kv::AllocStatus};

/// The scheduler of vLLM 0.2.x (`vllm/core/scheduler.py` of 0.2.5 to 0.2.7).
#[derive(Clone, Copy, Debug)]
pub(super) struct Vllm02;

impl Scheduler for Vllm02 {
    fn versions(&self) -> &'static str {
        "vllm 0.2.x"
    }

    fn is_used_by(&self, engine: &str, version: &str) -> bool {
        engine == "vllm" && version.starts_with("0.2.")
    }

    fn limits(&self, config: &EngineConfig) -> Result<Limits, EngineError> {
        let max_model_len = vllm_limits::max_model_len(config)?;
        let max_num_seqs = config.max_num_seqs.unwrap_or(256);
        let tokens = config.max_num_batched_tokens.unwrap_or(max_model_len.max(2048));
        if max_num_seqs > 0 && tokens < max_model_len {
            let expected = match config.max_model_len {
                Some(given) => format!("must be at least --max-model-len, which is {given}"),
                None => format!(
                    "must be at least the maximum length of a sequence, which is {max_model_len} for {}; \
                        give more, or a lower --max-model-len",
                    config.model.name
                ),
            };
            return Err(EngineError::invalid("--max-num-batched-tokens", tokens, expected));
        }
        vllm_limits::check_step(config, tokens, max_num_seqs)?;
        Ok(Limits {
            max_model_len,
            max_num_seqs,
            max_num_batched_tokens: tokens,
            max_paddings: config.max_paddings.unwrap_or(256),
            max_prompt_part: u32::MAX,
            reserves_prompts: false,
        })
    }

    fn schedule(&self, queues: &mut Queues) -> Option<Batch> {
        let batch = admit(queues);
        if batch.is_some() {
            return batch;
        }
        grow(queues);
        if queues.running.is_empty() {
            // Either no sequence was running, or the only one was preempted because no block was free. A preempted
            // sequence is admitted again, or ignored if it can never run.
            return admit(queues);
        }
        Some(Batch::Decode)
    }

    fn steady_steps(&self, queues: &Queues, most: u32) -> u32 {
        // A prompt that is not admitted now will not be admitted while the number of free blocks only decreases.
        if Prompts::default().next(queues).is_some() {
            return 0;
        }
        queues.kv.steps_with_room(queues.running.iter().map(Sequence::tokens), most, 1)
    }
}

/// The prompts that a step contains so far.
#[derive(Default)]
struct Prompts {
    count: usize,
    longest: u32,
    sum: u32,
}

/// What a step does with the first waiting sequence.
enum Next {
    Admitted,
    Ignored,
}

impl Prompts {
    /// Returns what the step does with the first waiting sequence; `None` if the sequence must continue to wait.
    fn next(&self, queues: &Queues) -> Option<Next> {
        let limits = queues.limits;
        // A preempted sequence recomputes its output as part of its prompt.
        let prompt = queues.waiting.front()?.tokens();
        let alloc_status = queues.kv.can_allocate(prompt);
        let prompt_limit = limits.max_model_len.min(limits.max_num_batched_tokens);
        if prompt > prompt_limit || alloc_status == AllocStatus::Never {
            return Some(Next::Ignored);
        }
        // Every prompt of a step is padded to the longest one.
        let padded = (self.count as u64 + 1) * u64::from(prompt.max(self.longest));
        let fits = alloc_status == AllocStatus::Now
            && padded <= u64::from(limits.max_num_batched_tokens)
            && queues.running.len() < limits.max_num_seqs as usize
            && padded - u64::from(self.sum + prompt) <= u64::from(limits.max_paddings);
        fits.then_some(Next::Admitted)
    }
}

/// Admits waiting prompts in order until one does not fit into this step.
fn admit(queues: &mut Queues) -> Option<Batch> {
    let mut prompts = Prompts::default();
    let mut ignored = Vec::new();
    while let Some(next) = prompts.next(queues) {
        let mut sequence = queues.waiting.pop_front().expect("invariant: a sequence waits");
        match next {
            Next::Ignored => ignored.push(sequence),
            Next::Admitted => {
                let prompt = sequence.tokens();
                sequence.blocks = queues.kv.allocate(prompt);
                queues.running.push(sequence);
                prompts.count += 1;
                prompts.longest = prompts.longest.max(prompt);
                prompts.sum += prompt;
            }
        }
    }
    let admitted = prompts.count;
    (admitted > 0 || !ignored.is_empty()).then_some(Batch::Prompt { admitted, ignored })
}

/// Allocates the next token of each running sequence, in order of arrival. If no block is free, the sequence that
/// arrived last is preempted.
fn grow(queues: &mut Queues) {
    let mut served = 0;
    while served < queues.running.len() {
        if queues.kv.can_append() {
            let sequence = &mut queues.running[served];
            let tokens = sequence.tokens();
            queues.kv.append(&mut sequence.blocks, tokens);
            served += 1;
        } else {
            // If no later sequence is left, the sequence itself is preempted.
            let victim = queues.running.pop().expect("invariant: one is still unserved");
            queues.preempt(victim);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::kv::BlockManager;
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
            max_num_batched_tokens: 1024,
            max_paddings: 256,
            max_prompt_part: u32::MAX,
            reserves_prompts: false,
        };
        let waiting = waiting.collect();
        Queues { waiting, ..Queues::new(BlockManager::new(blocks, 16), limits) }
    }

    fn admitted(queues: &mut Queues) -> usize {
        match Vllm02.schedule(queues) {
            Some(Batch::Prompt { admitted, .. }) => admitted,
            other => panic!("no prompt step but {other:?}"),
        }
    }

    #[test]
    fn a_prompt_step_admits_prompts_in_order_of_arrival_up_to_each_limit() {
        for (why, blocks, prompts, expected) in [
            ("all fit", 1000, &[100, 100, 100][..], 3),
            ("tokens, padding included, are limited", 1000, &[300, 300, 400, 10], 2),
            ("padding is limited", 1000, &[300, 40], 1),
            ("sequences are limited", 1000, &[10, 10, 10, 10, 10], 4),
            ("blocks are limited", 100, &[800, 800], 1),
            ("the watermark is reserved", 101, &[800, 800], 1),
        ] {
            assert_eq!(admitted(&mut queues(blocks, prompts)), expected, "{why}");
        }
    }

    #[test]
    fn the_padding_limit_counts_every_prompt_of_the_step() {
        // Two prompts of 300 tokens with one of 44 need 256 tokens of padding, which is the limit; with 43 it is 257.
        assert_eq!(admitted(&mut queues(1000, &[300, 300, 44])), 3);
        assert_eq!(admitted(&mut queues(1000, &[300, 300, 43])), 2);
    }

    #[test]
    fn waiting_prompts_are_scheduled_before_decode_steps() {
        let mut queues = queues(1000, &[300, 300, 400]);
        assert_eq!(admitted(&mut queues), 2);
        assert_eq!(admitted(&mut queues), 1);
        assert_eq!(Vllm02.schedule(&mut queues), Some(Batch::Decode));
    }

    #[test]
    fn a_prompt_that_can_never_run_is_ignored_and_the_next_prompt_is_admitted() {
        let mut too_long = queues(1000, &[1025, 10]);
        let ignored = vec![too_long.waiting[0].clone()];
        let expected = Batch::Prompt { admitted: 1, ignored };
        assert_eq!(Vllm02.schedule(&mut too_long), Some(expected));
        let mut too_large = queues(10, &[161]);
        let ignored = vec![too_large.waiting[0].clone()];
        let expected = Batch::Prompt { admitted: 0, ignored };
        assert_eq!(Vllm02.schedule(&mut too_large), Some(expected));
        assert_eq!(Vllm02.schedule(&mut too_large), None);
    }

    #[test]
    fn without_a_free_block_the_last_arrived_sequence_returns_to_the_front_of_the_queue() {
        let mut queues = queues(6, &[32, 32, 32]);
        assert_eq!(admitted(&mut queues), 3);
        queues.waiting.push_back(Sequence { id: RequestId(9), ..queues.running[0].clone() });
        for sequence in &mut queues.running {
            sequence.generated = 1;
        }
        assert_eq!(Vllm02.schedule(&mut queues), Some(Batch::Decode));
        let ids = |sequences: &VecDeque<Sequence>| {
            sequences.iter().map(|sequence| sequence.id.0).collect::<Vec<_>>()
        };
        assert_eq!(ids(&queues.waiting), [2, 9]);
        assert_eq!(queues.waiting[0].blocks, 0);
        assert_eq!((queues.kv.used(), queues.preemptions), (6, 1));
    }

    #[test]
    fn a_preempted_sequence_gets_blocks_to_recompute_its_prompt_and_output() {
        let mut queues = queues(1000, &[100]);
        queues.waiting[0].generated = 50;
        admitted(&mut queues);
        assert_eq!(queues.running[0].blocks, 150_u32.div_ceil(16));
    }

    #[test]
    fn a_decode_step_requires_a_free_block_even_if_the_last_block_has_room() {
        let mut queues = queues(2, &[20]);
        admitted(&mut queues);
        queues.running[0].generated = 1;
        assert_eq!(admitted(&mut queues), 1);
        assert_eq!((queues.running[0].tokens(), queues.preemptions), (21, 1));
    }

    #[test]
    fn a_preempted_sequence_that_no_longer_fits_into_memory_is_ended() {
        let mut queues = queues(2, &[32]);
        admitted(&mut queues);
        queues.running[0].generated = 1;
        match Vllm02.schedule(&mut queues) {
            Some(Batch::Prompt { admitted: 0, ignored }) => assert_eq!(ignored[0].tokens(), 33),
            other => panic!("not ended but {other:?}"),
        }
    }
}
