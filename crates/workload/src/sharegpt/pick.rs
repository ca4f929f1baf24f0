//! Which conversations a pass gets. They are dealt in one seeded order for the whole run, so that
//! places that say how many prompts were taken before them share none, as long as there are enough.
//! Lengths are counted only as far as a pass needs them, and once.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use inferometer_model::tokenizer::{Tokenizer, TokenizerError};
use inferometer_stats::seed;

use super::file::{self, Loaded};
use crate::error::WorkloadError;
use crate::parallel;

/// Conversations whose lengths are counted at a time.
const BLOCK: usize = 1_024;

/// A data set, with the order in which it is dealt and the lengths known so far.
pub(crate) struct Corpus {
    path: PathBuf,
    loaded: Loaded,
    tokenizer: Arc<dyn Tokenizer>,
    order: Vec<usize>,
    /// Tokens of each first turn, in the file's order.
    lengths: Vec<OnceLock<u32>>,
}

/// The conversations of one pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Picked {
    /// By their position among the usable ones of the file, one for each prompt.
    pub conversations: Vec<usize>,
    /// Prompts whose conversation an earlier prompt of the run had.
    pub reused: u64,
    /// Conversations of that length that were looked at; all there are, where some were reused.
    pub available: usize,
}

/// The order in which the conversations of a file are dealt.
pub(super) fn shuffled(count: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    let mut rng = seed::rng(seed, &["sharegpt", "order"]);
    for last in (1..count).rev() {
        order.swap(last, seed::below(&mut rng, last as u64 + 1) as usize);
    }
    order
}

impl Corpus {
    /// Reads a data set, to be dealt in the order of this seed.
    ///
    /// # Errors
    /// As [`file::load`].
    pub fn open(
        path: PathBuf,
        tokenizer: Arc<dyn Tokenizer>,
        seed: u64,
    ) -> Result<Self, WorkloadError> {
        let loaded = file::load(&path)?;
        let count = loaded.conversations.len();
        let order = shuffled(count, seed);
        let lengths = vec![OnceLock::new(); count];
        Ok(Self { path, loaded, tokenizer, order, lengths })
    }

    /// What the file held.
    #[must_use]
    pub fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    /// The tokens of a conversation's first turn.
    pub(crate) fn turn(&self, conversation: usize) -> Result<Vec<u32>, TokenizerError> {
        self.tokenizer.encode(&self.loaded.conversations[conversation])
    }

    /// Conversations for `count` prompts after the first `taken`: those whose first turn has from
    /// `input_length` to less than one and a half times as many tokens. When they run out, they are
    /// dealt again from the start.
    ///
    /// # Errors
    /// When there is none of that length, or the tokenizer fails.
    pub(crate) fn pick(
        &self,
        input_length: u32,
        taken: u64,
        count: usize,
    ) -> Result<Picked, WorkloadError> {
        if count == 0 {
            return Ok(Picked { conversations: Vec::new(), reused: 0, available: 0 });
        }
        let needed = taken + count as u64;
        let mut fitting: Vec<usize> = Vec::new();
        for block in self.order.chunks(BLOCK) {
            if fitting.len() as u64 >= needed {
                break;
            }
            let tokenizer = self.tokenizer.as_ref();
            let lengths = parallel::in_order(tokenizer, block.len(), |at| self.length(block[at]))?;
            let fits = |length: u32| {
                length >= input_length && u64::from(length) * 2 < u64::from(input_length) * 3
            };
            let found = block.iter().zip(lengths).filter(|(_, length)| fits(*length));
            fitting.extend(found.map(|(conversation, _)| *conversation));
        }
        if fitting.is_empty() {
            return Err(self.none_of(input_length));
        }
        let available = fitting.len();
        let deal = |at: u64| fitting[(at % available as u64) as usize];
        let fresh = (available as u64).saturating_sub(taken).min(count as u64);
        Ok(Picked {
            conversations: (taken..needed).map(deal).collect(),
            reused: count as u64 - fresh,
            available,
        })
    }

    fn length(&self, conversation: usize) -> Result<u32, TokenizerError> {
        let known = &self.lengths[conversation];
        if let Some(length) = known.get() {
            return Ok(*length);
        }
        let length = self.tokenizer.count(&self.loaded.conversations[conversation])?;
        Ok(*known.get_or_init(|| length))
    }

    fn none_of(&self, input_length: u32) -> WorkloadError {
        let longest = self.lengths.iter().filter_map(OnceLock::get).max().copied();
        WorkloadError::NoneOfThatLength {
            path: self.path.clone(),
            conversations: self.order.len(),
            input_length,
            longest: longest.unwrap_or(0),
        }
    }
}
