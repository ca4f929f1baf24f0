//! The workload `sharegpt` without input lengths. It selects requests as vLLM's serving benchmark does.
//! First turns are not cut. The output length is that of the recorded answer, unless the plan sets one
//! output length for all requests. Prompts have no tag (random words that make a prompt unique), so that
//! the prompts are the same as in that benchmark. So a prefix cache may contain prompts of an earlier run.

use std::sync::Arc;

use inferometer_model::{Finding, Prompt, Request};
use inferometer_plan::ServingLimits;

use super::file::{self, TurnPair};
use super::pool::ConversationPool;
use crate::workload::WorkloadDefinition;
use crate::{
    PromptContext, PromptForm, RequestBatch, RequestsNeeded, Workload, WorkloadError, fetch,
};

/// The workload as a plan configures it.
pub(crate) struct FirstTurnsDefinition<'a> {
    pub dataset: &'a str,
    pub limits: ServingLimits,
}

impl WorkloadDefinition for FirstTurnsDefinition<'_> {
    fn open(&self, context: &PromptContext) -> Result<Arc<dyn Workload>, WorkloadError> {
        let path = fetch::data_file(self.dataset)?;
        let loaded = file::load_pairs(&path)?;
        let pool = ConversationPool::new(path, loaded, context, |tokenizer, (prompt, answer)| {
            Ok((tokenizer.count(prompt)?, tokenizer.count(answer)?))
        });
        Ok(Arc::new(FirstTurns { pool, limits: self.limits }))
    }
}

/// The opened workload.
struct FirstTurns {
    /// The lengths of a conversation are the tokens of its prompt and of its answer.
    pool: ConversationPool<TurnPair, (u32, u32)>,
    limits: ServingLimits,
}

impl FirstTurns {
    fn fits(&self, (prompt, answer): (u32, u32)) -> bool {
        let ServingLimits { min_tokens, max_prompt_tokens, max_total_tokens, output_tokens } =
            self.limits;
        prompt >= min_tokens
            && (output_tokens.is_some() || answer >= min_tokens)
            && prompt <= max_prompt_tokens
            && prompt.saturating_add(output_tokens.unwrap_or(answer)) <= max_total_tokens
    }
}

impl Workload for FirstTurns {
    fn requests(&self, wanted: &RequestsNeeded<'_>) -> Result<RequestBatch, WorkloadError> {
        let RequestsNeeded { context, scope, count, .. } = *wanted;
        let picked =
            self.pool.pick(context, scope.used_before, count, |lengths| self.fits(lengths))?;
        let picked = picked.ok_or_else(|| WorkloadError::NoneWithinLimits {
            path: self.pool.path.clone(),
            conversations: self.pool.loaded.conversations.len(),
            limits: self.limits,
        })?;
        let requests = context.make(count, |at| -> Result<Request, WorkloadError> {
            let conversation = picked.conversations[at];
            let text = &self.pool.conversation(conversation).0;
            let (prompt_tokens, answer_tokens) = self.pool.length(conversation)?;
            let prompt = match context.form {
                PromptForm::Text => Prompt::Text(text.to_string()),
                PromptForm::TokenIds => Prompt::TokenIds(context.tokenizer.encode(text)?),
            };
            let counted = prompt_tokens + context.reserve;
            let output = self.limits.output_tokens.unwrap_or(answer_tokens);
            let request = Request::new(prompt, counted, output);
            Ok(Request { counted_tokens: Some(counted), ..request })
        })?;
        Ok(RequestBatch { requests, notes: picked.note().into_iter().collect() })
    }

    fn findings(&self) -> Vec<Finding> {
        self.pool.loaded.findings()
    }
}
