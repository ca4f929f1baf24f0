//! The workload `random`: seeded words of the vocabulary.
//!
//! Each prompt has its own random stream of words, which depends on the seed, the salt of the run, the
//! scope (cell, pass and repeat) and the index. So a new salt changes prompts from the first token on, and
//! two prompts practically always differ within their first KV block. A prompt that is shorter than a full
//! tag (about six tokens) has fewer random bits. For example, prompts of one or two tokens repeat.

use std::sync::Arc;

use inferometer_model::Prompt;

use crate::fit::{self, SizedPrompt, Words, inexact, short_tag};
use crate::workload::WorkloadDefinition;
use crate::{PromptContext, PromptForm, RequestBatch, RequestsNeeded, Workload, WorkloadError};

/// The workload `random`.
pub(crate) struct RandomWords;

impl WorkloadDefinition for RandomWords {
    fn open(&self, _context: &PromptContext) -> Result<Arc<dyn Workload>, WorkloadError> {
        Ok(Arc::new(Self))
    }
}

impl Workload for RandomWords {
    fn requests(&self, wanted: &RequestsNeeded<'_>) -> Result<RequestBatch, WorkloadError> {
        let RequestsNeeded { context, cell, .. } = *wanted;
        let length = context.own_length(cell.input_length)?;
        let made = prompts(wanted, length)?;
        let notes = short_tag(context, length).into_iter().chain(inexact(context, &made, length));
        let notes = notes.collect();
        let requests = made.into_iter().map(|made| made.request(context, cell)).collect();
        Ok(RequestBatch { requests, notes })
    }

    fn can_begin_anywhere(&self) -> bool {
        true
    }
}

/// The prompts of the requests, of `length` tokens each.
fn prompts(wanted: &RequestsNeeded<'_>, length: u32) -> Result<Vec<SizedPrompt>, WorkloadError> {
    let RequestsNeeded { context, scope, first, count, .. } = *wanted;
    let tokenizer = context.tokenizer.as_ref();
    fit::require_plain_words(tokenizer)?;
    let rng = |index: usize| scope.rng(context.seed, &context.salt, first + index as u64);
    let words = |index: usize| Words::new(tokenizer, rng(index));
    match context.form {
        PromptForm::Text => Ok(fit::texts(
            context,
            count,
            |index| words(index).positions(length),
            |index| fit::words(tokenizer, &mut words(index), length),
        )?),
        PromptForm::TokenIds => context.make(count, |index| {
            let ids = words(index).take(length);
            Ok(SizedPrompt { prompt: Prompt::TokenIds(ids), counted: length })
        }),
    }
}
