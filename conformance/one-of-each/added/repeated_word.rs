//! The workload `repeated-word`: each prompt is one word of the vocabulary, repeated.

use std::sync::Arc;

use inferometer_model::request::Prompt;

use crate::context::PromptContext;
use crate::error::WorkloadError;
use crate::fit::{SizedPrompt, Words};
use crate::workload::{RequestBatch, RequestsNeeded, Workload, WorkloadDefinition};

/// The workload `repeated-word`.
pub(crate) struct RepeatedWord;

impl WorkloadDefinition for RepeatedWord {
    fn open(&self, _context: &PromptContext) -> Result<Arc<dyn Workload>, WorkloadError> {
        Ok(Arc::new(Self))
    }
}

impl Workload for RepeatedWord {
    fn requests(&self, wanted: &RequestsNeeded<'_>) -> Result<RequestBatch, WorkloadError> {
        let RequestsNeeded { context, cell, scope, count, .. } = *wanted;
        let length = context.own_length(cell.input_length)?;
        let tokenizer = context.tokenizer.as_ref();
        let made = (0..count as u64).map(|index| {
            let rng = scope.rng(context.seed, &context.salt, index);
            let word = Words::new(tokenizer, rng).take(1);
            let ids: Vec<u32> = word.into_iter().cycle().take(length as usize).collect();
            let text = tokenizer.decode(&ids)?;
            Ok(SizedPrompt { prompt: Prompt::Text(text), counted: length }.request(context, cell))
        });
        Ok(RequestBatch { requests: made.collect::<Result<_, WorkloadError>>()?, notes: Vec::new() })
    }
}
