//! Seeded words of the vocabulary: the source `random`.
//!
//! The words of a prompt come from a stream of their own, labelled with the salt of the run, the
//! place and the index, so the salt shows in the first token and prompts differ within their first
//! KV block. A prompt shorter than a full tag (about six tokens) has fewer bits to differ in:
//! prompts of one or two tokens do repeat.

use inferometer_model::cell::CellPlan;
use inferometer_model::request::Prompt;
use inferometer_model::tokenizer::Tokenizer;

use crate::error::WorkloadError;
use crate::fit::{self, Made, Words};
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
        let made = Random { shared, place }.prompts(count, length)?;
        let notes = short_tag(shared, length).into_iter().chain(inexact(shared, &made, length));
        let notes = notes.collect();
        let requests = made.into_iter().map(|made| shared.request(made, cell)).collect();
        Ok(Built { requests, notes })
    }
}

/// Makes the prompts of one place.
struct Random<'a> {
    shared: &'a Shared,
    place: &'a PromptPlace,
}

impl Random<'_> {
    /// The first `count` prompts, of `length` tokens each.
    fn prompts(&self, count: usize, length: u32) -> Result<Vec<Made>, WorkloadError> {
        let tokenizer = self.shared.tokenizer.as_ref();
        check_plain_ids(tokenizer)?;
        Ok(match self.shared.form {
            PromptForm::Text => fit::texts(
                self.shared,
                count,
                |index| self.words(index).positions(length),
                |index| fit::words(tokenizer, &mut self.words(index), length),
            )?,
            PromptForm::TokenIds => self.shared.make(count, |index| {
                let ids = self.words(index).take(length);
                Ok::<_, WorkloadError>(Made { prompt: Prompt::TokenIds(ids), counted: length })
            })?,
        })
    }

    fn words(&self, index: usize) -> Words<'_> {
        let Shared { tokenizer, seed, salt, .. } = self.shared;
        Words::new(tokenizer.as_ref(), self.place.rng(*seed, salt, index as u64))
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
