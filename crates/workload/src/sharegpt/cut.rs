//! The workload `sharegpt` with input lengths. For the input length L, it selects first human turns with
//! at least L and fewer than 1.5 L tokens. It cuts them so that prompts have L tokens.
//!
//! Each prompt begins with a tag of seeded words that depends on the salt of the run. A full tag has about six tokens.
//! Two prompts with a full tag practically never share their first KV block, even if a conversation is used again. The
//! tag of a short prompt is shorter, because a tag has at most half of the tokens of the prompt; a prompt of one token
//! has no tag. So short prompts may be equal, and a note says so.

use std::sync::Arc;

use inferometer_model::{Finding, Prompt};

use super::{file, pool::ConversationPool};
use crate::fit::{self, SizedPrompt, Words, inexact, short_tag};
use crate::workload::WorkloadDefinition;
use crate::{
    PromptContext, PromptForm, RequestBatch, RequestsNeeded, Workload, WorkloadError, fetch,
};

/// The workload as a plan configures it.
pub(crate) struct Cut<'a> {
    pub dataset: &'a str,
}

impl WorkloadDefinition for Cut<'_> {
    fn open(&self, context: &PromptContext) -> Result<Arc<dyn Workload>, WorkloadError> {
        let path = fetch::data_file(self.dataset)?;
        let loaded = file::load(&path)?;
        let pool =
            ConversationPool::new(path, loaded, context, |tokenizer, turn| tokenizer.count(turn));
        Ok(Arc::new(CutTurns(pool)))
    }
}

/// The opened workload.
struct CutTurns(ConversationPool<Box<str>, u32>);

impl CutTurns {
    /// A prompt of `length` tokens: a tag, then the beginning of the conversation's first human turn.
    fn cut(
        &self,
        context: &PromptContext,
        conversation: usize,
        words: &mut Words<'_>,
        length: u32,
    ) -> Result<SizedPrompt, WorkloadError> {
        let tokenizer = context.tokenizer.as_ref();
        let tag = fit::tag_of(length, tokenizer.plain_ids().len());
        let turn = tokenizer.encode(self.0.conversation(conversation))?;
        Ok(match context.form {
            PromptForm::Text => fit::tagged(tokenizer, words, length, tag, &turn)?,
            PromptForm::TokenIds => {
                let mut ids = words.take(tag);
                ids.extend(&turn[..(length - tag) as usize]);
                SizedPrompt { prompt: Prompt::TokenIds(ids), counted: length }
            }
        })
    }

    fn none_of(&self, input_length: u32) -> WorkloadError {
        WorkloadError::NoneOfThatLength {
            path: self.0.path.clone(),
            conversations: self.0.loaded.conversations.len(),
            input_length,
            longest: self.0.longest().unwrap_or(0),
        }
    }
}

impl Workload for CutTurns {
    fn requests(&self, wanted: &RequestsNeeded<'_>) -> Result<RequestBatch, WorkloadError> {
        let RequestsNeeded { context, cell, scope, count, .. } = *wanted;
        let length = context.own_length(cell.input_length)?;
        let tokenizer = context.tokenizer.as_ref();
        let least = cell.input_length;
        let fits = |length: u32| length >= least && u64::from(length) * 2 < u64::from(least) * 3;
        let picked = self
            .0
            .pick(context, scope.used_before, count, fits)?
            .ok_or_else(|| self.none_of(least))?;
        let made = context.make(count, |at| {
            let rng = scope.rng(context.seed, &context.salt, at as u64);
            let mut words = Words::new(tokenizer, rng);
            self.cut(context, picked.conversations[at], &mut words, length)
        })?;
        let mut notes: Vec<_> = picked.note().into_iter().collect();
        notes.extend(short_tag(context, fit::tag_of(length, tokenizer.plain_ids().len())));
        notes.extend(inexact(context, &made, length));
        let requests = made.into_iter().map(|made| made.request(context, cell)).collect();
        Ok(RequestBatch { requests, notes })
    }

    fn findings(&self) -> Vec<Finding> {
        self.0.loaded.findings()
    }
}
