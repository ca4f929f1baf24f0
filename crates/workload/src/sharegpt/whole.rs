//! The workload `sharegpt` without input lengths. It selects requests as vLLM's serving benchmark does, except
//! that the prompt is always a human turn. First human turns are not cut; a system prompt is sent with them if
//! the dialect has messages. The output length is that of the recorded answer, unless the plan sets one output
//! length for all requests. Prompts have no tag (random words that make a prompt unique), so that the prompts are
//! the same as in that benchmark. So a prefix cache may contain prompts of an earlier run.

use std::sync::Arc;

use inferometer_model::{CellPlan, Finding, Prompt, Request, TokenizerError, request::Message};
use inferometer_plan::ServingLimits;

use super::file::{self, Exchange};
use super::pool::ConversationPool;
use crate::workload::{WorkloadDefinition, longest_beyond};
use crate::{
    Note, PromptContext, PromptForm, RequestBatch, RequestsNeeded, TooLong, Workload,
    WorkloadError, fetch,
};

/// The workload as a plan configures it.
pub(crate) struct FirstTurnsDefinition<'a> {
    pub dataset: &'a str,
    pub limits: ServingLimits,
}

impl WorkloadDefinition for FirstTurnsDefinition<'_> {
    fn open(&self, context: &PromptContext) -> Result<Arc<dyn Workload>, WorkloadError> {
        let path = fetch::data_file(self.dataset)?;
        let loaded = file::load_exchanges(&path)?;
        let pool = ConversationPool::new(path, loaded, context, |tokenizer, it: &Exchange| {
            let system = it.system.as_deref().map_or(Ok(0), |system| tokenizer.count(system))?;
            Ok((system, tokenizer.count(&it.prompt)?, tokenizer.count(&it.answer)?))
        });
        Ok(Arc::new(FirstTurns { pool, limits: self.limits }))
    }
}

fn message(role: &str, content: &str) -> Message {
    let fields = [("role", role), ("content", content)];
    fields.map(|(name, value)| (name.to_owned(), value.into())).into_iter().collect()
}

/// The opened workload.
struct FirstTurns {
    /// The lengths of a conversation are the tokens of its system prompt, of its prompt and of its answer.
    pool: ConversationPool<Exchange, (u32, u32, u32)>,
    limits: ServingLimits,
}

/// The tokens of a prompt, with its system prompt if the dialect can send it.
fn input(context: &PromptContext, (system, prompt, _): (u32, u32, u32)) -> u32 {
    if context.accepts_messages { system.saturating_add(prompt) } else { prompt }
}

impl FirstTurns {
    fn fits(&self, context: &PromptContext, lengths: (u32, u32, u32)) -> bool {
        let (prompt, (_, _, answer)) = (input(context, lengths), lengths);
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
        let fits = |lengths| self.fits(context, lengths);
        let picked = self.pool.pick(context, scope.used_before, count, fits)?;
        let picked = picked.ok_or_else(|| WorkloadError::NoneWithinLimits {
            path: self.pool.path.clone(),
            conversations: self.pool.loaded.conversations.len(),
            limits: self.limits,
        })?;
        let requests = context.make(count, |at| -> Result<Request, WorkloadError> {
            let conversation = picked.conversations[at];
            let Exchange { system, prompt: text, .. } = self.pool.conversation(conversation);
            let lengths = self.pool.length(conversation)?;
            let system = system.as_deref().filter(|_| context.accepts_messages);
            let prompt = match (system, context.form) {
                (Some(system), _) => {
                    Prompt::Messages(vec![message("system", system), message("user", text)])
                }
                (None, PromptForm::Text) => Prompt::Text(text.to_string()),
                (None, PromptForm::TokenIds) => Prompt::TokenIds(context.tokenizer.encode(text)?),
            };
            let counted = input(context, lengths) + context.reserve;
            let output = self.limits.output_tokens.unwrap_or(lengths.2);
            // The chat template adds tokens between messages, so the exact number is then unknown.
            let counted_tokens = system.is_none().then_some(counted);
            Ok(Request { counted_tokens, ..Request::new(prompt, counted, output) })
        })?;
        let of = |is_left_out: fn(&Exchange) -> bool, turn| {
            let all = picked.conversations.iter().map(|at| self.pool.conversation(*at));
            let prompts = all.filter(|it| is_left_out(it)).count() as u64;
            (prompts > 0).then_some(Note::TurnLeftOut { prompts, turn })
        };
        let system = of(
            |it| it.system.is_some(),
            "the system prompt of their conversation, for \
            which the dialect has no place",
        );
        let answer = of(
            |it| it.has_earlier_answer,
            "the model's turn with which their conversation \
            begins (vllm bench serve sends this turn as the prompt)",
        );
        let system = system.filter(|_| !context.accepts_messages);
        let notes = picked.note().into_iter().chain(system).chain(answer).collect();
        Ok(RequestBatch { requests, notes })
    }

    fn beyond(&self, wanted: &RequestsNeeded<'_>, limit: u64) -> TooLong {
        let RequestsNeeded { context, scope, count, .. } = *wanted;
        if u64::from(self.limits.max_total_tokens) + u64::from(context.reserve) <= limit {
            return Ok(None);
        }
        let fits = |lengths| self.fits(context, lengths);
        let count = count.min(self.pool.loaded.conversations.len());
        let picked = self.pool.pick(context, scope.used_before, count, fits)?;
        let picked = picked.map_or_else(Vec::new, |picked| picked.conversations);
        let lengths = |conversation| -> Result<CellPlan, TokenizerError> {
            let lengths = self.pool.length(conversation)?;
            let input_length = input(context, lengths) + context.reserve;
            let output_length = self.limits.output_tokens.unwrap_or(lengths.2);
            Ok(CellPlan { input_length, output_length })
        };
        let lengths = picked.into_iter().map(lengths).collect::<Result<Vec<_>, _>>()?;
        Ok(longest_beyond(limit, lengths))
    }

    fn findings(&self) -> Vec<Finding> {
        self.pool.loaded.findings()
    }
}
