//! Where in a run a prompt stands, and in which form it is sent.

use inferometer_stats::seed;
use rand_chacha::ChaCha8Rng;

/// The pass that prompts are made for. Two places of a run never share a random stream.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PromptPlace {
    /// The cell, by a label that no other cell of the run has.
    pub cell: String,
    /// The pass within the cell, the warm-up included, likewise.
    pub pass: String,
    /// Which repeat of the pass.
    pub repeat: u32,
    /// Prompts of the same input length that the run asks for at earlier places. A data set's
    /// conversations are dealt out from there, so that places do not share them.
    pub taken: u64,
}

impl PromptPlace {
    /// A place with nothing taken before it.
    #[must_use]
    pub fn new(cell: impl Into<String>, pass: impl Into<String>, repeat: u32) -> Self {
        Self { cell: cell.into(), pass: pass.into(), repeat, taken: 0 }
    }

    /// The same place, after `taken` prompts of the same input length.
    #[must_use]
    pub fn after(mut self, taken: u64) -> Self {
        self.taken = taken;
        self
    }

    /// The random stream of the `index`-th prompt here.
    pub(crate) fn rng(&self, seed: u64, salt: &str, index: u64) -> ChaCha8Rng {
        let (repeat, index) = (self.repeat.to_string(), index.to_string());
        seed::rng(seed, &["prompt", salt, &self.cell, &self.pass, &repeat, &index])
    }
}

/// How prompts are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PromptForm {
    /// As text, which the server tokenises.
    Text,
    /// As token ids, exact by construction.
    TokenIds,
}
