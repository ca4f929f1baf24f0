//! The memory of the answers in flight: how much they hold, and how much they may. It ends no request.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Memory that any answer may take, in bytes.
pub const ANSWER_BYTES: usize = 64 << 20;
/// Memory that all answers in flight may take together, in bytes, beside what the plan needs.
pub const ANSWERS_BYTES: usize = 128 << 20;
/// Reads, and events, that are kept of an answer that is given up for its size.
pub const KEPT: usize = 4_096;

/// What an output token takes at most: two reads and two events, in lists that grow by doubling.
const BYTES_PER_TOKEN: usize = 240;

/// Text that is kept of any answer, in bytes; of many output tokens more.
const TEXT_BYTES: usize = 1 << 20;
/// The longest that output tokens are on average, in bytes of text.
const TEXT_BYTES_PER_TOKEN: usize = 64;

/// Bytes of text that an answer of so many output tokens may have where its text is kept.
pub(crate) fn text_of_answer(output_tokens: u32) -> usize {
    (output_tokens as usize).saturating_mul(TEXT_BYTES_PER_TOKEN).max(TEXT_BYTES)
}

/// Memory that the plan needs for an answer of so many output tokens, in bytes.
pub fn of_answer(output_tokens: u32) -> usize {
    // The head, a finish, the usage and the end mark.
    (output_tokens as usize).saturating_add(4).saturating_mul(BYTES_PER_TOKEN)
}

/// The memory of the answers in flight of all event loops of a pass, in bytes.
#[derive(Debug, Default)]
pub(crate) struct AnswerMemory {
    held: AtomicUsize,
    planned: AtomicUsize,
}

impl AnswerMemory {
    /// Adds an answer that holds so much, and of which the plan asks for so many output tokens.
    pub fn begin(&self, held: usize, output_tokens: u32) {
        self.held.fetch_add(held, Relaxed);
        self.planned.fetch_add(of_answer(output_tokens), Relaxed);
    }

    /// An answer that held `before` holds `now`.
    pub fn change(&self, before: usize, now: usize) {
        self.held.fetch_add(now, Relaxed);
        self.held.fetch_sub(before, Relaxed);
    }

    /// Whether all together hold too much.
    pub fn is_over(&self) -> bool {
        self.held.load(Relaxed) > self.planned.load(Relaxed).saturating_add(ANSWERS_BYTES)
    }

    /// Takes away an answer that was added.
    pub fn end(&self, held: usize, output_tokens: u32) {
        self.held.fetch_sub(held, Relaxed);
        self.planned.fetch_sub(of_answer(output_tokens), Relaxed);
    }
}
