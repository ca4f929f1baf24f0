//! Finds servers that do not state cached prompt tokens, although prompts share their begins.

use inferometer_model::{Finding, Timeline, digits};

inferometer_model::codes! {
    CACHED_TOKENS_UNKNOWN = "cached_tokens_unknown", Note,
        "Prompts of jobs share their begins, but the server does not state how many tokens it took from its cache. So \
            nothing is known of its cache.";
}

/// Counts completed requests whose prompts share tokens with earlier ones.
#[derive(Clone, Debug, Default)]
pub(super) struct UnstatedCache {
    sharing: u64,
    stated: u64,
}

impl UnstatedCache {
    pub(super) fn add(&mut self, timeline: &Timeline<'_>) {
        let record = timeline.record;
        let shared = record.job.as_ref().and_then(|job| job.shared);
        self.sharing += u64::from(shared.is_some_and(|shared| shared.tokens > 0));
        self.stated += u64::from(record.usage.cached.is_some());
    }

    pub(super) fn findings(self) -> Option<Finding> {
        let message = format!(
            "The server does not state cached tokens, but {} prompts share tokens with earlier ones. vLLM states them with \
                `--enable-prompt-tokens-details`, SGLang with `--enable-cache-report`.",
            digits::count(self.sharing)
        );
        (self.sharing > 0 && self.stated == 0).then(|| Finding::of(CACHED_TOKENS_UNKNOWN, message))
    }
}

#[cfg(test)]
mod tests {
    use inferometer_model::fixture::steady;
    use inferometer_model::record::{JobCall, SharedPrompt};

    use super::*;

    #[test]
    fn a_server_that_states_no_cached_tokens_is_found_only_if_prompts_share_tokens() {
        for (tokens, cached, is_found) in [(64, None, true), (64, Some(0), false), (0, None, false)]
        {
            let mut record = steady(0.0, 40.0, 10.0, 3);
            let shared = Some(SharedPrompt { tokens, with: (0, 0) });
            record.job = Some(Box::new(JobCall { shared, ..JobCall::default() }));
            record.usage.cached = cached;
            let mut seen = UnstatedCache::default();
            seen.add(&Timeline::new(&record));
            assert_eq!(seen.findings().is_some(), is_found, "{tokens} {cached:?}");
        }
    }
}
