//! The memory of the answers in flight: how much they take, and how much they may take. This module ends no
//! request.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The memory that one answer may take, in bytes. If the plan needs more memory for an answer, this need is the limit.
pub const ANSWER_BYTES: usize = 64 << 20;
/// The memory that all answers in flight may take together in addition to what the plan needs for them, in bytes.
pub const ANSWERS_BYTES: usize = 128 << 20;
/// If an answer is ended because of its size, its record contains only the first reads and the first events, at most
/// this number of each.
pub const KEPT: usize = 4_096;

/// The maximum memory of an output token, in bytes: two reads and two events, times two, because their lists grow by
/// doubling.
const BYTES_PER_TOKEN: usize = 240;

/// The maximum stored text of an answer, in bytes. The limit is higher if the answer has many output tokens.
const TEXT_BYTES: usize = 1 << 20;
/// The highest accepted average length of an output token, in bytes of text.
const TEXT_BYTES_PER_TOKEN: usize = 64;

/// The limit on the text of an answer with this many output tokens, in bytes, if its text is stored.
pub(crate) fn text_of_answer(output_tokens: u32) -> usize {
    (output_tokens as usize).saturating_mul(TEXT_BYTES_PER_TOKEN).max(TEXT_BYTES)
}

/// The memory that the plan needs for an answer with this many output tokens, in bytes.
pub fn of_answer(output_tokens: u32) -> usize {
    // The reads and events of the tokens, and four more: the head, the finish reason, the usage and the end mark.
    (output_tokens as usize).saturating_add(4).saturating_mul(BYTES_PER_TOKEN)
}

/// The memory of the answers in flight of all event loops of a pass, in bytes.
#[derive(Debug, Default)]
pub(crate) struct AnswerMemory {
    held: AtomicUsize,
    planned: AtomicUsize,
}

impl AnswerMemory {
    /// Adds an answer that takes `held` bytes and is planned to have this many output tokens.
    pub fn begin(&self, held: usize, output_tokens: u32) {
        self.held.fetch_add(held, Relaxed);
        self.planned.fetch_add(of_answer(output_tokens), Relaxed);
    }

    /// Changes the memory of an answer from `before` to `now`, both in bytes.
    pub fn change(&self, before: usize, now: usize) {
        self.held.fetch_add(now, Relaxed);
        self.held.fetch_sub(before, Relaxed);
    }

    /// Whether all answers together take too much memory.
    pub fn is_over(&self) -> bool {
        self.held.load(Relaxed) > self.planned.load(Relaxed).saturating_add(ANSWERS_BYTES)
    }

    /// Removes an answer that was added.
    pub fn end(&self, held: usize, output_tokens: u32) {
        self.held.fetch_sub(held, Relaxed);
        self.planned.fetch_sub(of_answer(output_tokens), Relaxed);
    }
}
