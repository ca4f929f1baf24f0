//! Seeded words of the vocabulary: the source `random`.
//!
//! The words of a prompt come from a stream of their own, labelled with the salt of the run, the
//! place and the index, so the salt shows in the first token and prompts differ within their first
//! KV block. A prompt shorter than a full tag (about six tokens) has fewer bits to differ in:
//! prompts of one or two tokens do repeat.

use std::sync::Arc;

use inferometer_core::plan::CellPlan;
use inferometer_core::request::Prompt;
use inferometer_core::traits::Tokenizer;

use crate::error::WorkloadError;
use crate::fit::{self, Made, Words};
use crate::parallel;
use crate::place::{PromptForm, PromptPlace};
use crate::requests::{Built, Shared, Workload, inexact, short_tag};

/// The workload `random`.
pub(crate) struct RandomWords;

impl Workload for RandomWords {
    fn requests(
        &self,
        shared: &Shared,
        cell: CellPlan,
        place: &PromptPlace,
        count: usize,
    ) -> Result<Built, WorkloadError> {
        let length = shared.own_length(cell.input_length)?;
        let tokenizer = Arc::clone(&shared.tokenizer);
        let random = Random::new(tokenizer, shared.seed, &*shared.salt, place.clone());
        let made = random.prompts(count, length, shared.form)?;
        let notes = short_tag(shared, length).into_iter().chain(inexact(shared, &made, length));
        let notes = notes.collect();
        let requests = made.into_iter().map(|made| shared.request(made, cell)).collect();
        Ok(Built { requests, notes })
    }
}

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

    /// The first `count` prompts, of `length` tokens each. Where the tokenizer keeps words apart,
    /// they are put together from words, and one in 256 is counted to see that it does; otherwise
    /// each one is counted, and corrected until it fits.
    ///
    /// # Errors
    /// As [`Random::prompt`].
    pub fn prompts(
        &self,
        count: usize,
        length: u32,
        form: PromptForm,
    ) -> Result<Vec<Made>, WorkloadError> {
        let tokenizer = self.tokenizer.as_ref();
        check_plain_ids(tokenizer)?;
        Ok(match form {
            PromptForm::Text => fit::texts(
                tokenizer,
                count,
                |index| self.words(index as u64).positions(length),
                |index| fit::words(tokenizer, &mut self.words(index as u64), length),
            )?,
            PromptForm::TokenIds => {
                parallel::in_order(count, |index| self.prompt(index as u64, length, form))?
            }
        })
    }

    fn words(&self, index: u64) -> Words<'_> {
        Words::new(self.tokenizer.as_ref(), self.place.rng(self.seed, &self.salt, index))
    }

    /// The prompt with this index, of `length` tokens; [`Made::counted`] says whether it has them.
    ///
    /// # Errors
    /// When the tokenizer fails, or has no words to draw.
    pub fn prompt(&self, index: u64, length: u32, form: PromptForm) -> Result<Made, WorkloadError> {
        let tokenizer = self.tokenizer.as_ref();
        check_plain_ids(tokenizer)?;
        let mut words = self.words(index);
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
