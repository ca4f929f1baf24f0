//! Which pass prompts are made for, and in which form they are sent.

use inferometer_stats::seed;
use rand_chacha::ChaCha8Rng;

/// The pass that prompts are made for. It labels their random streams, so no two scopes of a run
/// share one, and it says which part of a data set is still unused.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PromptScope {
    /// The cell, by a label that no other cell of the run has.
    pub cell: String,
    /// The pass within the cell, the warm-up included, by a label that no other pass of it has.
    pub pass: String,
    /// The repeat of the pass, from 0.
    pub repeat: u32,
    /// Prompts of the same input length that earlier passes of the run take. A data set is used
    /// from there on, so that passes do not share its rows.
    pub taken: u64,
}

impl PromptScope {
    /// A scope with no prompts taken before it.
    pub fn new(cell: impl Into<String>, pass: impl Into<String>, repeat: u32) -> Self {
        Self { cell: cell.into(), pass: pass.into(), repeat, taken: 0 }
    }

    /// The same scope, after `taken` prompts of the same input length.
    #[must_use]
    pub fn after(mut self, taken: u64) -> Self {
        self.taken = taken;
        self
    }

    /// The random stream of the `index`-th prompt.
    pub(crate) fn rng(&self, seed: u64, salt: &str, index: u64) -> ChaCha8Rng {
        let (repeat, index) = (self.repeat.to_string(), index.to_string());
        seed::rng(seed, &["prompt", salt, &self.cell, &self.pass, &repeat, &index])
    }
}

/// The form in which prompts are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PromptForm {
    /// As text, which the server tokenizes.
    Text,
    /// As token ids, whose number is exact.
    TokenIds,
}
