//! Counts prompt tokens that the server took from its prefix cache. A few tokens change no figure. The tokens of a chat
//! template at the start of every prompt change no figure either. Neither of these is reported.

use inferometer_model::{Finding, Record, code};

/// The smallest share of cached prompt tokens that changes the figures of a pass.
pub(super) const MATERIAL_SHARE: f64 = 0.05;
/// The largest number of cached tokens per request that can belong to a chat template.
const MOST_OF_TEMPLATE: u32 = 64;

/// Counts the cached tokens of completed requests.
#[derive(Clone, Debug, Default)]
pub(super) struct CachedPrompts {
    completed: u64,
    prompt_tokens: u64,
    tokens: u64,
    /// The number of requests with cached tokens.
    requests: u64,
    /// The smallest number of cached tokens among the requests with cached tokens.
    fewest: Option<u32>,
}

impl CachedPrompts {
    pub(super) fn add(&mut self, record: &Record) {
        self.completed += 1;
        self.prompt_tokens += u64::from(record.usage.prompt.unwrap_or(0));
        let Some(cached) = record.usage.cached.filter(|&cached| cached > 0) else { return };
        self.tokens += u64::from(cached);
        self.requests += 1;
        self.fewest = Some(self.fewest.map_or(cached, |fewest| fewest.min(cached)));
    }

    /// The number of cached tokens that nearly every request has. Up to a tenth of the requests, or one request if that
    /// is more, may have found the cache empty. 0 if the tokens are too many for a template, or more than half of an
    /// average prompt.
    pub(super) fn in_common(&self) -> u32 {
        let found_it_empty = (self.completed / 10).max(1);
        let is_in_each = self.requests + found_it_empty >= self.completed;
        self.fewest
            .filter(|&fewest| is_in_each && fewest <= MOST_OF_TEMPLATE)
            .filter(|&fewest| 2 * u64::from(fewest) * self.completed <= self.prompt_tokens)
            .unwrap_or(0)
    }

    pub(super) fn finding(&self) -> Option<Finding> {
        let beyond = self.tokens - u64::from(self.in_common()) * self.requests;
        if beyond == 0 || (beyond as f64) < MATERIAL_SHARE * self.prompt_tokens as f64 {
            return None;
        }
        let message = format!(
            "The server took {} of {} prompt tokens from its prefix cache, in {} of {} \
                completed requests.",
            self.tokens, self.prompt_tokens, self.requests, self.completed
        );
        Some(Finding::of(code::CACHED_PROMPT_TOKENS, message))
    }
}
