//! Selects the conversations of a pass. The run uses the conversations in one seeded order, so passes
//! have different conversations as long as there are enough. The tokens of a conversation are counted at
//! most once, and only if the count is needed.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use inferometer_model::{Tokenizer, TokenizerError, stats::seed};

use super::file::Loaded;
use crate::{Note, PromptContext};

/// The number of conversations whose tokens are counted in one step of the search.
const BLOCK: usize = 1_024;

/// The conversations of a file in a seeded order. `T` is the stored part of a conversation. `L` is its
/// length or lengths in tokens.
pub(super) struct ConversationPool<T, L> {
    pub path: PathBuf,
    pub loaded: Loaded<T>,
    tokenizer: Arc<dyn Tokenizer>,
    measure: fn(&dyn Tokenizer, &T) -> Result<L, TokenizerError>,
    order: Vec<usize>,
    /// The lengths that were counted so far, in the order of the file.
    lengths: Vec<OnceLock<L>>,
}

/// The conversations of one pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Picked {
    /// The conversation of each prompt, as its position among the usable conversations of the file.
    pub conversations: Vec<usize>,
    /// The number of prompts with a conversation that an earlier prompt of the run already had.
    reused: u64,
    /// The number of conversations of a fitting length that were found. The search stops when there are
    /// enough. If conversations are used again, this is the number in the whole file.
    available: u64,
}

impl Picked {
    /// A note if conversations are used again; otherwise `None`.
    pub fn note(&self) -> Option<Note> {
        let Self { reused: prompts, available, .. } = *self;
        (prompts > 0).then_some(Note::Reused { prompts, available })
    }
}

impl<T: Sync, L: Copy + Ord + Send + Sync> ConversationPool<T, L> {
    /// A pool of the conversations of a file. `measure` counts the tokens of a conversation.
    pub fn new(
        path: PathBuf,
        loaded: Loaded<T>,
        context: &PromptContext,
        measure: fn(&dyn Tokenizer, &T) -> Result<L, TokenizerError>,
    ) -> Self {
        let count = loaded.conversations.len();
        let mut order: Vec<usize> = (0..count).collect();
        let mut rng = seed::rng(context.seed, &["sharegpt", "order"]);
        for last in (1..count).rev() {
            order.swap(last, seed::below(&mut rng, last as u64 + 1) as usize);
        }
        let (tokenizer, lengths) = (context.tokenizer.clone(), vec![OnceLock::new(); count]);
        Self { path, loaded, tokenizer, measure, order, lengths }
    }

    /// The stored part of the conversation at this position.
    pub fn conversation(&self, at: usize) -> &T {
        &self.loaded.conversations[at]
    }

    /// The length or lengths of a conversation in tokens, which are counted at the first call.
    pub fn length(&self, at: usize) -> Result<L, TokenizerError> {
        let known = &self.lengths[at];
        if let Some(length) = known.get() {
            return Ok(*length);
        }
        let length = (self.measure)(self.tokenizer.as_ref(), self.conversation(at))?;
        Ok(*known.get_or_init(|| length))
    }

    /// The largest length that was counted so far; `None` if no length was counted.
    pub fn longest(&self) -> Option<L> {
        self.lengths.iter().filter_map(OnceLock::get).max().copied()
    }

    /// Selects conversations for `count` prompts, after the first `taken` prompts of the run. A
    /// conversation is selected if `fits` returns true for its length. If there are too few such
    /// conversations, they are used again in the same order. `None` if no conversation fits.
    ///
    /// # Errors
    /// If the tokenizer fails, or the making of prompts is stopped.
    pub fn pick(
        &self,
        context: &PromptContext,
        taken: u64,
        count: usize,
        fits: impl Fn(L) -> bool,
    ) -> Result<Option<Picked>, TokenizerError> {
        if count == 0 {
            return Ok(Some(Picked { conversations: Vec::new(), reused: 0, available: 0 }));
        }
        let needed = taken + count as u64;
        let mut fitting: Vec<usize> = Vec::new();
        for block in self.order.chunks(BLOCK) {
            if fitting.len() as u64 >= needed {
                break;
            }
            let lengths = context.in_order(block.len(), |at| self.length(block[at]))?;
            let found = block.iter().zip(lengths).filter(|(_, length)| fits(*length));
            fitting.extend(found.map(|(conversation, _)| *conversation));
        }
        let available = fitting.len() as u64;
        if available == 0 {
            return Ok(None);
        }
        let conversations = (taken..needed).map(|at| fitting[(at % available) as usize]).collect();
        let fresh = available.saturating_sub(taken).min(count as u64);
        Ok(Some(Picked { conversations, reused: count as u64 - fresh, available }))
    }
}
