//! The scheduler of Text Generation Inference 1.3.x: prompts of waiting requests are computed in a
//! batch of their own when enough wait or enough steps have passed, and join those that run. Room
//! for a whole output is taken at the start, so nothing is ever evicted.
//!
//! Requests per batch are never limited; `max_concurrent_requests` belongs to the front.

use super::{Batch, Policy, Queues, Sequence};

/// Decode steps after which whatever fits is let in (`--max-waiting-tokens`).
const MAX_WAITING_TOKENS: u32 = 20;
/// Waiting requests for each running one that are let in before that
/// (`--waiting-served-ratio`).
const WAITING_SERVED_RATIO: f64 = 1.2;

/// TGI 1.3.x (`router/src/infer.rs` and `queue.rs` of 1.3.4).
#[derive(Clone, Copy, Debug)]
pub struct Tgi13;

impl Policy for Tgi13 {
    fn schedule(&self, queues: &mut Queues) -> Option<Batch> {
        let ignored = never(queues);
        let count = admissible(queues, waited(queues));
        for _ in 0..count {
            let mut sequence = queues.waiting.pop_front().expect("invariant: so many wait");
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
        } else if !queues.waiting.iter().all(|sequence| can_ever(queues, sequence))
            || admissible(queues, waited(queues)) > 0
        {
            0
        } else if admissible(queues, true) > 0 {
            most.min(MAX_WAITING_TOKENS.saturating_sub(queues.decodes_since_prompt))
        } else {
            most
        }
    }
}

/// Tokens that a request has room for from the start: its prompt, and all that it may ask for.
fn reserved(sequence: &Sequence) -> u32 {
    sequence.prompt + sequence.max_tokens
}

fn can_ever(queues: &Queues, sequence: &Sequence) -> bool {
    let limits = queues.limits;
    sequence.prompt <= limits.max_num_batched_tokens
        && reserved(sequence) <= limits.max_model_len
        && queues.kv.blocks(reserved(sequence)) <= queues.kv.total()
}

/// Requests that no budget can hold; the front of TGI refuses them.
fn never(queues: &mut Queues) -> Vec<Sequence> {
    let (keep, ignored): (Vec<_>, Vec<_>) = std::mem::take(&mut queues.waiting)
        .into_iter()
        .partition(|sequence| can_ever(queues, sequence));
    queues.waiting = keep.into();
    ignored
}

/// Whether requests need not wait for others any more.
fn waited(queues: &Queues) -> bool {
    queues.running.is_empty() || queues.decodes_since_prompt >= MAX_WAITING_TOKENS
}

/// How many waiting requests are let in now, in order of arrival.
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
    use crate::config::Limits;
    use crate::engine::RequestId;
    use crate::kv::BlockManager;

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
    fn prompts_are_let_in_up_to_both_budgets() {
        assert_eq!(admitted(&mut queues(9, 0)), 4, "450 prompt tokens");
        let mut tight = queues(9, 8);
        tight.decodes_since_prompt = 20;
        assert_eq!(admitted(&mut tight), 2, "10 blocks each of 100");
    }

    #[test]
    fn a_small_batch_waits_until_enough_steps_have_passed() {
        let mut early = queues(3, 4);
        assert_eq!(Tgi13.steady_steps(&early, 100), 19);
        assert_eq!(admitted(&mut early), 0);
        early.decodes_since_prompt = 20;
        assert_eq!(Tgi13.steady_steps(&early, 100), 0);
        assert_eq!(admitted(&mut early), 3);
        assert_eq!(admitted(&mut queues(4, 3)), 4, "enough wait: 4 for 3 that run");
    }

    #[test]
    fn what_can_never_run_is_ignored() {
        let mut never = queues(2, 0);
        never.waiting[0].prompt = 451;
        match Tgi13.schedule(&mut never) {
            Some(Batch::Prompt { admitted: 1, ignored }) => assert_eq!(ignored[0].id.0, 0),
            other => panic!("{other:?}"),
        }
    }
}
