//! The pass for which prompts are made, and the form in which they are sent.

use inferometer_model::stats::seed;
use rand_chacha::ChaCha8Rng;

/// The pass for which prompts are made. Each scope of a run has its own random streams for its prompts.
/// The scope also states how much of a data set earlier passes have used.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PromptScope {
    /// The label of the cell, unique within the run.
    pub cell: String,
    /// The label of the pass, unique within its cell. The warm-up has the label `warm-up`.
    pub pass: String,
    /// The repeat of the pass, from 0.
    pub repeat: u32,
    /// The number of prompts of the same input length that earlier passes of the run have used; an upper
    /// bound if an earlier pass was limited only by time. The pass begins at this position of the data set, so that
    /// passes have different rows.
    pub used_before: u64,
}

impl PromptScope {
    /// A scope with no prompts before it.
    pub fn new(cell: impl Into<String>, pass: impl Into<String>, repeat: u32) -> Self {
        Self { cell: cell.into(), pass: pass.into(), repeat, used_before: 0 }
    }

    /// The same scope, after `used_before` prompts of the same input length.
    #[must_use]
    pub fn after(mut self, used_before: u64) -> Self {
        self.used_before = used_before;
        self
    }

    /// The random stream of the prompt with this index.
    pub(crate) fn rng(&self, seed: u64, salt: &str, index: u64) -> ChaCha8Rng {
        let (repeat, index) = (self.repeat.to_string(), index.to_string());
        seed::rng(seed, &["prompt", salt, &self.cell, &self.pass, &repeat, &index])
    }
}

/// The form in which prompts are sent to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PromptForm {
    /// As text, which the server tokenizes.
    Text,
    /// As token ids, whose number is exact.
    TokenIds,
}
