//! The prompt tokens that a server took from its cache, and where the others went that earlier prompts had, too.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::{CallTimes, Reuse};

/// Sums over the completed calls whose server states its cached tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CacheTotals {
    /// The number of these calls.
    pub calls: u64,
    /// Their prompt tokens.
    pub prompt_tokens: u64,
    /// Prompt tokens that the server took from its cache.
    pub cached_tokens: u64,
    /// What is expected of a cache that keeps everything; absent if it is not known what prompts have in common.
    pub expected: Option<ExpectedCache>,
}

/// Cached tokens that are expected, and where those went that were expected and not cached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExpectedCache {
    /// Tokens at the begins of prompts that an earlier prompt of the pass has, too.
    pub shared_tokens: u64,
    /// The size of the server's blocks in tokens: the largest number that divides all cached counts. Absent if nothing was
    /// cached.
    pub block: Option<u32>,
    /// The part of the shared tokens that a cache of such blocks can have: whole blocks, and never the last token of a
    /// prompt.
    pub tokens: u64,
    /// The number of calls with as many cached tokens as expected.
    pub calls_as_expected: u64,
    /// Shared tokens that fill no whole block, or are the last of their prompt.
    pub lost_to_blocks: u64,
    /// Expected tokens that were not cached because the call with the same begin had no output yet, or failed.
    pub lost_to_order: u64,
    /// Expected tokens that were not cached because the cache does not keep so many.
    #[serde(default)]
    pub lost_to_eviction: u64,
    /// Other expected tokens that were not cached: on another server, or changed by a template.
    pub lost_otherwise: u64,
    /// Cached tokens beyond the expected ones: of a template, of an earlier pass, or of another client.
    pub more_than_expected: u64,
    /// What repeated prompts show of the cache.
    #[serde(default)]
    pub reuse: Reuse,
}

impl CacheTotals {
    /// The sums; `None` if the server states no cached tokens.
    pub(super) fn of<'a>(calls: impl Iterator<Item = &'a CallTimes> + Clone) -> Option<Self> {
        let stated = || calls.clone().filter_map(|call| Some((call, call.cached?)));
        let mut totals = Self::default();
        let mut divisor = 0;
        for (_, (prompt, cached)) in stated() {
            totals.calls += 1;
            totals.prompt_tokens += u64::from(prompt);
            totals.cached_tokens += u64::from(cached);
            divisor = common_divisor(divisor, cached);
        }
        if totals.calls == 0 {
            return None;
        }
        let block = Some(divisor).filter(|divisor| *divisor > 0);
        let by_place: HashMap<(u32, u32), &CallTimes> =
            calls.clone().map(|call| ((call.place.job, call.place.call), call)).collect();
        let mut expected = ExpectedCache { block, ..ExpectedCache::default() };
        let mut judged = Vec::new();
        for (call, (prompt, cached)) in stated() {
            // If it is not known for one call, the sums of the others would be of no use.
            let Some(shared) = call.place.shared else {
                return Some(totals);
            };
            let most = shared.tokens.min(prompt.saturating_sub(1));
            let tokens = most - most % block.unwrap_or(1);
            let with = by_place.get(&shared.with);
            let was_ready = with.is_some_and(|with| with.first.unwrap_or(with.ended) <= call.sent);
            let lost = u64::from(tokens.saturating_sub(cached));
            expected.shared_tokens += u64::from(shared.tokens);
            expected.tokens += u64::from(tokens);
            expected.lost_to_blocks += u64::from(shared.tokens - tokens);
            *(if was_ready {
                &mut expected.lost_otherwise
            } else {
                &mut expected.lost_to_order
            }) += lost;
            judged.push((call, was_ready.then_some(tokens)));
            expected.more_than_expected += u64::from(cached.saturating_sub(tokens));
            expected.calls_as_expected += u64::from(tokens == cached);
        }
        let (reuse, evicted) = Reuse::of(&judged, block.unwrap_or(1));
        (expected.reuse, expected.lost_to_eviction) = (reuse, evicted);
        expected.lost_otherwise -= evicted;
        totals.expected = Some(expected);
        Some(totals)
    }
}

/// The greatest common divisor; the other number if one is 0.
fn common_divisor(mut one: u32, mut other: u32) -> u32 {
    while other > 0 {
        (one, other) = (other, one % other);
    }
    one
}
