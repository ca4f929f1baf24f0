//! The scheduler of Text Generation Inference 1.3.x. Waiting prompts are computed in a separate batch when enough of
//! them wait, when enough steps have passed, or when no sequence runs; then they join the running batch. KV blocks for
//! the whole output are allocated at the start, so no sequence is ever preempted.
//!
//! The number of requests per batch is not limited; `max_concurrent_requests` belongs to the router.

use super::queues::{Queues, Sequence};
use super::scheduler::{Batch, Scheduler};
use crate::{EngineConfig, EngineError, Limits};

/// The number of decode steps after which all fitting requests are admitted (`--max-waiting-tokens`).
const MAX_WAITING_TOKENS: u32 = 20;
/// Requests are admitted earlier if this ratio of waiting to running requests is reached (`--waiting-served-ratio`).
const WAITING_SERVED_RATIO: f64 = 1.2;

/// The scheduler of TGI 1.3.x (`router/src/infer.rs` and `queue.rs` of 1.3.4).
#[derive(Clone, Copy, Debug)]
pub(super) struct Tgi13;

impl Scheduler for Tgi13 {
    fn versions(&self) -> &'static str {
        "tgi 1.3.x"
    }

    fn is_used_by(&self, engine: &str, version: &str) -> bool {
        engine == "tgi" && version.starts_with("1.3.")
    }

    /// The limits of TGI (`--max-total-tokens`, `--max-batch-prefill-tokens`) under vLLM's names. TGI does not limit
    /// the number of sequences or the padding.
    fn limits(&self, config: &EngineConfig) -> Result<Limits, EngineError> {
        let model = &config.model;
        let most = model.context_limit.unwrap_or(model.context);
        let max_model_len = config.max_model_len.unwrap_or(most.min(8192));
        if max_model_len == 0 || max_model_len > most {
            let expected = format!("{} accepts sequences of 1 to {most} tokens", model.name);
            return Err(EngineError::invalid("--max-model-len", max_model_len, expected));
        }
        Ok(Limits {
            max_model_len,
            max_num_seqs: config.max_num_seqs.unwrap_or(1024),
            max_num_batched_tokens: config.max_num_batched_tokens.unwrap_or(4096),
            max_paddings: 0,
            max_prompt_part: u32::MAX,
            reserves_prompts: false,
        })
    }

    fn supports_pipeline_stages(&self) -> bool {
        false
    }

    /// An approximation: TGI does not use 5 % of the memory that is free after its warm-up.
    fn default_gpu_memory_utilization(&self) -> f64 {
        0.95
    }

    fn schedule(&self, queues: &mut Queues) -> Option<Batch> {
        let ignored = take_unschedulable(queues);
        let count = admissible(queues, has_waited_enough(queues));
        for _ in 0..count {
            let mut sequence =
                queues.waiting.pop_front().expect("invariant: `count` sequences wait");
            sequence.blocks = queues.kv.allocate(reserved(&sequence));
            queues.running.push(sequence);
        }
        if count > 0 || !ignored.is_empty() {
            return Some(Batch::Prompt { admitted: count, ignored });
        }
        (!queues.running.is_empty()).then_some(Batch::Decode)
    }

    fn steady_steps(&self, queues: &Queues, most: u32) -> u32 {
        if queues.waiting.is_empty() {
            most
        } else if !queues.waiting.iter().all(|sequence| fits_alone(queues, sequence))
            || admissible(queues, has_waited_enough(queues)) > 0
        {
            0
        } else if admissible(queues, true) > 0 {
            most.min(MAX_WAITING_TOKENS.saturating_sub(queues.decodes_since_prompt))
        } else {
            most
        }
    }
}

/// The tokens for which KV blocks are allocated at the start: the prompt and the longest possible output.
fn reserved(sequence: &Sequence) -> u32 {
    sequence.prompt + sequence.max_tokens
}

/// Whether the limits and the KV memory have room for the sequence if no other sequence runs.
fn fits_alone(queues: &Queues, sequence: &Sequence) -> bool {
    let limits = queues.limits;
    sequence.prompt <= limits.max_num_batched_tokens
        && reserved(sequence) <= limits.max_model_len
        && queues.kv.blocks(reserved(sequence)) <= queues.kv.total()
}

/// Removes requests that could not run even without other requests; TGI's router rejects such requests.
fn take_unschedulable(queues: &mut Queues) -> Vec<Sequence> {
    let (keep, ignored): (Vec<_>, Vec<_>) = std::mem::take(&mut queues.waiting)
        .into_iter()
        .partition(|sequence| fits_alone(queues, sequence));
    queues.waiting = keep.into();
    ignored
}

/// Whether waiting requests are admitted regardless of their number.
fn has_waited_enough(queues: &Queues) -> bool {
    queues.running.is_empty() || queues.decodes_since_prompt >= MAX_WAITING_TOKENS
}

/// How many waiting requests are admitted now, in order of arrival. Without `any_number`, the result is 0 if too few
/// waiting requests fit.
fn admissible(queues: &Queues, any_number: bool) -> usize {
    let mut free = queues.kv.total() - queues.kv.used();
    let mut prompt_tokens = 0;
    let mut count = 0;
    for sequence in &queues.waiting {
        prompt_tokens += sequence.prompt;
        let blocks = queues.kv.blocks(reserved(sequence));
        if prompt_tokens > queues.limits.max_num_batched_tokens || blocks > free {
            break;
        }
        free -= blocks;
        count += 1;
    }
    let least = (queues.running.len() as f64 * WAITING_SERVED_RATIO).floor() as usize;
    if any_number || count >= least { count } else { 0 }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::kv::BlockManager;
    use crate::request::RequestId;

    fn queues(waiting: u64, running: u64) -> Queues {
        let sequence = |id, blocks| Sequence {
            max_tokens: 60,
            ends_after: 30,
            blocks,
            ..Sequence::new(RequestId(id), 100)
        };
        let mut kv = BlockManager::new(100, 16);
        let running = (0..running).map(|id| sequence(100 + id, kv.allocate(160))).collect();
        let limits = Limits {
            max_model_len: 8192,
            max_num_seqs: 1024,
            max_num_batched_tokens: 450,
            max_paddings: 0,
            max_prompt_part: u32::MAX,
            reserves_prompts: false,
        };
        Queues {
            waiting: (0..waiting).map(|id| sequence(id, 0)).collect::<VecDeque<_>>(),
            running,
            decodes_since_prompt: 1,
            ..Queues::new(kv, limits)
        }
    }

    fn admitted(queues: &mut Queues) -> usize {
        match Tgi13.schedule(queues) {
            Some(Batch::Prompt { admitted, .. }) => admitted,
            _ => 0,
        }
    }

    #[test]
    fn prompts_are_admitted_up_to_the_limits_of_tokens_and_blocks() {
        assert_eq!(admitted(&mut queues(9, 0)), 4, "450 prompt tokens");
        let mut tight = queues(9, 8);
        tight.decodes_since_prompt = 20;
        assert_eq!(
            admitted(&mut tight),
            2,
            "each sequence needs 10 blocks, and 20 of the 100 blocks are free"
        );
    }

    #[test]
    fn few_waiting_prompts_are_admitted_only_after_enough_decode_steps() {
        let mut early = queues(3, 4);
        assert_eq!(Tgi13.steady_steps(&early, 100), 19);
        assert_eq!(admitted(&mut early), 0);
        early.decodes_since_prompt = 20;
        assert_eq!(Tgi13.steady_steps(&early, 100), 0);
        assert_eq!(admitted(&mut early), 3);
        assert_eq!(admitted(&mut queues(4, 3)), 4, "enough wait: 4 for 3 that run");
    }

    #[test]
    fn a_prompt_that_can_never_run_is_ignored() {
        let mut never = queues(2, 0);
        never.waiting[0].prompt = 451;
        match Tgi13.schedule(&mut never) {
            Some(Batch::Prompt { admitted: 1, ignored }) => assert_eq!(ignored[0].id.0, 0),
            other => panic!("{other:?}"),
        }
    }
}
