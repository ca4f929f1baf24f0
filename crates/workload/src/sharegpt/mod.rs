//! A ShareGPT file: an array of `{id, conversations: [{from, value}, ...]}`. Prompts are first
//! human turns of [L, 1.5 L) tokens, cut to L.
//!
//! In front of each stands a tag of seeded words with the salt of the run, so that no two prompts
//! share their first KV block, even where a conversation has to be used again. A tag is about six
//! tokens, and never more than half of the prompt; prompts of one token have none.

mod file;
mod pick;
mod serving;

use std::path::PathBuf;

use inferometer_model::cell::CellPlan;
use inferometer_model::finding::Finding;
use inferometer_model::request::Prompt;

use crate::error::WorkloadError;
use crate::fit::{self, Made, Words};
use crate::place::{PromptForm, PromptPlace};
use crate::requests::{Built, Note, Shared, Workload, inexact, short_tag};

pub(crate) use file::each_row;
pub use file::{Loaded, Rejected, RowProblem, RowReason, load, read};
use pick::Corpus;
pub(crate) use serving::ServingRun;

/// The workload `sharegpt`.
pub(crate) struct ShareGpt(Corpus);

impl ShareGpt {
    /// Reads the file.
    ///
    /// # Errors
    /// When it cannot be used.
    pub(crate) fn open(dataset: PathBuf, shared: &Shared) -> Result<Self, WorkloadError> {
        let corpus = Corpus::open(dataset, shared.tokenizer.clone(), shared.seed)?;
        Ok(Self(corpus))
    }

    /// A first turn behind its tag, cut to `length` tokens.
    fn cut(
        &self,
        shared: &Shared,
        conversation: usize,
        words: &mut Words<'_>,
        length: u32,
    ) -> Result<Made, WorkloadError> {
        let tokenizer = shared.tokenizer.as_ref();
        let tag = fit::tag_of(length, tokenizer.plain_ids().len());
        let turn = self.0.turn(conversation)?;
        Ok(match shared.form {
            PromptForm::Text => fit::tagged(tokenizer, words, length, tag, &turn)?,
            PromptForm::TokenIds => {
                let mut ids = words.take(tag);
                ids.extend(&turn[..(length - tag) as usize]);
                Made { prompt: Prompt::TokenIds(ids), counted: length }
            }
        })
    }
}

impl Workload for ShareGpt {
    fn requests(
        &self,
        shared: &Shared,
        cell: CellPlan,
        place: &PromptPlace,
        count: usize,
    ) -> Result<Built, WorkloadError> {
        let length = shared.own_length(cell.input_length)?;
        let tokenizer = shared.tokenizer.as_ref();
        let picked = self.0.pick(cell.input_length, place.taken, count)?;
        let mut notes = Vec::new();
        if picked.reused > 0 {
            let available = picked.available as u64;
            notes.push(Note::Reused { prompts: picked.reused, available });
        }
        let made = shared.make(count, |at| {
            let rng = place.rng(shared.seed, &shared.salt, at as u64);
            let mut words = Words::new(tokenizer, rng);
            self.cut(shared, picked.conversations[at], &mut words, length)
        })?;
        notes.extend(short_tag(shared, fit::tag_of(length, tokenizer.plain_ids().len())));
        notes.extend(inexact(shared, &made, length));
        let requests = made.into_iter().map(|made| shared.request(made, cell)).collect();
        Ok(Built { requests, notes })
    }

    fn findings(&self) -> Vec<Finding> {
        self.0.loaded().findings()
    }
}
