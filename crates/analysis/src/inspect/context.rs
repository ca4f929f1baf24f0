//! Finds requests that filled the context length that a run asks a server for. Such a server cuts a longer prompt, or
//! the answer, without an error.

use inferometer_model::record::ServerTime;
use inferometer_model::{Finding, Record, Sampling, code};

/// Compares the tokens of completed requests with the context length.
#[derive(Clone, Debug, Default)]
pub(super) struct FullContexts {
    /// The context length that requests ask for; `None`: they ask for none.
    limit: Option<u64>,
    counted: u64,
    full: u64,
}

impl FullContexts {
    pub(super) fn of(sampling: &Sampling) -> Self {
        Self { limit: sampling.num_ctx(), ..Self::default() }
    }

    pub(super) fn add(&mut self, record: &Record) {
        // Only Ollama's own API has `num_ctx`, and only its answers state the time of the load.
        let limit = self.limit.filter(|_| record.server_times.ms(ServerTime::Load).is_some());
        let (Some(limit), Some(prompt)) = (limit, record.usage.prompt) else { return };
        self.counted += 1;
        let tokens = u64::from(prompt) + u64::from(record.usage.completion.unwrap_or(0));
        let is_whole = record.usage.completion == Some(record.asked_output);
        self.full += u64::from(tokens > limit || (tokens == limit && !is_whole));
    }

    pub(super) fn finding(&self) -> Option<Finding> {
        let Self { limit, counted, full } = self;
        let limit = limit.filter(|_| *full > 0)?;
        let message = format!(
            "{full} of {counted} completed requests with a count of the server filled the context of {limit} tokens \
                (num_ctx): the server cut their prompts or their answers."
        );
        Some(Finding::of(code::CONTEXT_FULL, message))
    }
}
