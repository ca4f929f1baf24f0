//! Seeded words of the vocabulary: the source `random`.
//!
//! The words of a prompt come from a stream of their own, labelled with the salt of the run, the
//! place and the index, so the salt shows in the first token and prompts differ within their first
//! KV block. A prompt shorter than a full tag (about six tokens) has fewer bits to differ in:
//! prompts of one or two tokens do repeat.

use std::sync::Arc;

use inferometer_core::request::Prompt;
use inferometer_core::traits::Tokenizer;

use crate::error::WorkloadError;
use crate::fit::{self, Made, Words};
use crate::place::{PromptForm, PromptPlace};

/// Makes the prompts of one place.
pub struct Random {
    tokenizer: Arc<dyn Tokenizer>,
    seed: u64,
    salt: String,
    place: PromptPlace,
}

impl Random {
    /// Prompts by this tokenizer, for this place of the run with this seed and salt.
    #[must_use]
    pub fn new(
        tokenizer: Arc<dyn Tokenizer>,
        seed: u64,
        salt: impl Into<String>,
        place: PromptPlace,
    ) -> Self {
        Self { tokenizer, seed, salt: salt.into(), place }
    }

    /// The prompt with this index, of `length` tokens; [`Made::counted`] says whether it has them.
    ///
    /// # Errors
    /// When the tokenizer fails, or has no words to draw.
    pub fn prompt(&self, index: u64, length: u32, form: PromptForm) -> Result<Made, WorkloadError> {
        let tokenizer = self.tokenizer.as_ref();
        check_plain_ids(tokenizer)?;
        let mut words = Words::new(tokenizer, self.place.rng(self.seed, &self.salt, index));
        Ok(match form {
            PromptForm::Text => fit::words(tokenizer, &mut words, length)?,
            PromptForm::TokenIds => {
                Made { prompt: Prompt::TokenIds(words.take(length)), counted: length }
            }
        })
    }
}

/// Words needed for prompts that differ.
const FEWEST_WORDS: usize = 16;

/// Refuses a tokenizer that has too few words to make prompts of.
pub(crate) fn check_plain_ids(tokenizer: &dyn Tokenizer) -> Result<(), WorkloadError> {
    let found = tokenizer.plain_ids().len();
    if found < FEWEST_WORDS {
        let (tokenizer, needed) = (tokenizer.name(), FEWEST_WORDS);
        return Err(WorkloadError::TooFewPlainTokens { tokenizer, found, needed });
    }
    Ok(())
}
