//! What prompts that come again show of a cache: how much it keeps, and what its tokens save.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::CallTimes;
use crate::record::SharedPrompt;
use crate::stats::{percentile, student_975};

/// The longest chain of prompts with common begins that is followed.
const LONGEST_CHAIN: usize = 1_000;
/// The fewest calls that a cache removed, so that it is known to remove what was used least recently.
const FEWEST_REMOVED: usize = 3;
/// The fewest calls for a slope.
const FEWEST: usize = 10;

/// What repeated prompts show of a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reuse {
    /// The number of tokens that the cache keeps is at least this: the most that a prompt needed that was still there. Absent
    /// if no prompt was.
    pub keeps_at_least: Option<u64>,
    /// It is less than this: the fewest that a prompt needed that was removed, of those that needed more than
    /// `keeps_at_least`. Absent if fewer than three such prompts were removed, or as many others are lost.
    pub keeps_less_than: Option<u64>,
    /// The median TTFT of calls with all of their expected tokens, in milliseconds.
    pub ttft_kept_ms: Option<f64>,
    /// The median TTFT of calls with none of their expected tokens, in milliseconds.
    pub ttft_lost_ms: Option<f64>,
    /// By how many milliseconds 1,000 cached tokens make the TTFT shorter, and the 95 % interval; the slope over all calls.
    /// Absent if calls overlap or are few.
    pub ms_saved_per_1000: Option<[f64; 3]>,
}

/// A call that shares tokens with an earlier one.
struct Return {
    /// How many tokens a cache must keep to have the tokens that it had, and all expected ones.
    needed: [u64; 2],
    expected: u32,
    cached: u32,
    ttft_ms: Option<f64>,
}

impl Reuse {
    /// What calls show, each with its number of expected tokens if it is judged; and the number of expected tokens that were
    /// not cached, and that the cache could only have by keeping more than `keeps_at_least`. `block` is the number of tokens
    /// of a block.
    pub(super) fn of(calls: &[(&CallTimes, Option<u32>)], block: u32) -> (Self, u64) {
        let mut calls: Vec<_> = calls.iter().collect();
        calls.sort_by_key(|(call, _)| call.sent);
        let returns = returns(&calls, block);
        let keeps_at_least = returns.iter().filter(|it| it.cached > 0).map(|it| it.needed[0]).max();
        let is_evicted =
            |it: &&Return| it.cached < it.expected && Some(it.needed[1]) > keeps_at_least;
        let lost = returns.iter().filter(|it| it.cached < it.expected).count();
        let removed = returns.iter().filter(is_evicted).count();
        // Otherwise, the cache has another order, or tokens are lost for other reasons.
        let is_by_age = removed >= FEWEST_REMOVED && 2 * removed > lost;
        let evicted = || returns.iter().filter(|it| is_by_age && is_evicted(it));
        let median = |of: fn(&Return) -> bool| {
            let mut values: Vec<f64> =
                returns.iter().filter(|it| of(it)).filter_map(|it| it.ttft_ms).collect();
            values.sort_unstable_by(f64::total_cmp);
            (!values.is_empty()).then(|| percentile(&values, 0.5))
        };
        let reuse = Self {
            keeps_at_least,
            keeps_less_than: evicted().map(|it| it.needed[1]).min(),
            ttft_kept_ms: median(|it| it.cached >= it.expected),
            ttft_lost_ms: median(|it| it.cached == 0),
            ms_saved_per_1000: saved(&calls),
        };
        (reuse, evicted().map(|it| u64::from(it.expected - it.cached)).sum())
    }
}

/// The judged calls that share tokens with an earlier one. A call uses its prompt and answer in whole blocks, and with its
/// begin also the tokens of the calls that it shares it with.
fn returns(calls: &[&(&CallTimes, Option<u32>)], block: u32) -> Vec<Return> {
    // Blocks are powers of two; the divisor of few cached counts may be a multiple.
    let block = 1 << block.trailing_zeros();
    let whole = |tokens: u32| u64::from(tokens / block * block);
    let mut uses = Uses { tokens_at: vec![0; 2 * calls.len() + 1], of: HashMap::new() };
    let mut returns = Vec::new();
    for (now, (call, expected)) in calls.iter().enumerate() {
        let Some((prompt, cached)) = call.cached else { continue };
        let shared = call.place.shared.filter(|shared| shared.tokens > 0);
        if let (Some(shared), Some(expected)) = (shared, expected.filter(|expected| *expected > 0))
        {
            let needed =
                [cached.min(expected), expected].map(|to| uses.needed(shared.with, to.into()));
            if let [Some(had), Some(all)] = needed {
                let ttft_ms = call.ttft_ms();
                returns.push(Return { needed: [had, all], expected, cached, ttft_ms });
            }
        }
        // The last token of an answer is not computed.
        let computed = prompt.saturating_add(call.output.saturating_sub(1)).div_ceil(block) * block;
        let begin = shared.map_or(0, |shared| whole(shared.tokens));
        let place = (call.place.job, call.place.call);
        uses.begin(place, now, shared, (begin, computed.into()));
        let mut next = shared;
        for _ in 0..LONGEST_CHAIN {
            let Some(SharedPrompt { tokens, with }) = next else { break };
            next = uses.again(with, now, whole(tokens));
        }
    }
    returns
}

/// The place of a call: its job, and its number there.
type Place = (u32, u32);

/// When tokens were last used. Each call has two instants: that of its own tokens, and then that of the tokens that it shares,
/// because caches remove the end of a prompt before its begin.
struct Uses {
    /// A Fenwick tree: how many tokens were last used at each instant.
    tokens_at: Vec<u64>,
    of: HashMap<Place, Used>,
}

/// The tokens of a call that no earlier call has.
struct Used {
    shared: Option<SharedPrompt>,
    /// The last use of each part: instant, from, to. Parts follow each other; later ones were not used later.
    parts: Vec<(usize, u64, u64)>,
}

impl Uses {
    /// The call uses these tokens now, for the first time.
    fn begin(
        &mut self,
        place: Place,
        now: usize,
        shared: Option<SharedPrompt>,
        (from, to): (u64, u64),
    ) {
        let at = 2 * now;
        self.add(at, to.saturating_sub(from));
        self.of.insert(place, Used { shared, parts: vec![(at, from, to.max(from))] });
    }

    /// The tokens of a call up to `to` are used again. Returns what the call itself shares.
    fn again(&mut self, place: Place, now: usize, to: u64) -> Option<SharedPrompt> {
        let Used { shared, parts } = self.of.get_mut(&place)?;
        let shared = *shared;
        let (_, from, _) = *parts.first()?;
        let mut changes = Vec::new();
        parts.retain_mut(|(at, from, end)| {
            let used = to.min(*end).saturating_sub(*from);
            changes.push((*at, used.wrapping_neg()));
            *from += used;
            from < end
        });
        let used: u64 = changes.iter().fold(0, |sum: u64, (_, change)| sum.wrapping_sub(*change));
        let at = 2 * now + 1;
        parts.insert(0, (at, from, from + used));
        changes.into_iter().chain([(at, used)]).for_each(|(at, change)| self.add(at, change));
        shared
    }

    fn add(&mut self, at: usize, change: u64) {
        let mut at = at + 1;
        while at < self.tokens_at.len() {
            self.tokens_at[at] = self.tokens_at[at].wrapping_add(change);
            at += at & at.wrapping_neg();
        }
    }

    /// How many tokens a cache must keep to have the prompt of a call up to the token `to`: those that were used since, and
    /// those that were used together with this token. `None` if nothing is known of the call.
    fn needed(&self, mut place: Place, to: u64) -> Option<u64> {
        let mut used = self.of.get(&place)?;
        while let Some(shared) =
            used.shared.filter(|_| used.parts.first().is_some_and(|part| to <= part.1))
        {
            place = shared.with;
            used = self.of.get(&place)?;
        }
        let (at, _, end) = used.parts.iter().find(|part| to <= part.2).or(used.parts.last())?;
        let up_to = |at: usize| {
            let steps = std::iter::successors(Some(at), |at| Some(at - (at & at.wrapping_neg())));
            steps
                .take_while(|at| *at > 0)
                .fold(0_u64, |sum, at| sum.wrapping_add(self.tokens_at[at]))
        };
        let since = up_to(self.tokens_at.len() - 1).wrapping_sub(up_to(*at));
        Some(since.saturating_sub(end.saturating_sub(to)))
    }
}

/// By how much 1,000 cached tokens make the TTFT shorter, with the 95 % interval: least squares over the fresh tokens,
/// with an interval that allows unequal deviations.
fn saved(calls: &[&(&CallTimes, Option<u32>)]) -> Option<[f64; 3]> {
    let overlaps = calls.windows(2).any(|pair| pair[1].0.sent < pair[0].0.ended);
    let point = |(call, _): &&(&CallTimes, Option<u32>)| {
        let (prompt, cached) = call.cached?;
        Some((f64::from(prompt.saturating_sub(cached)), call.ttft_ms()?))
    };
    let points: Vec<(f64, f64)> = calls.iter().filter_map(point).collect();
    if overlaps || points.len() < FEWEST {
        return None;
    }
    let n = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (fresh, ttft) = (mean(|it| it.0), mean(|it| it.1));
    let spread: f64 = points.iter().map(|it| (it.0 - fresh).powi(2)).sum();
    if spread <= 0.0 {
        return None;
    }
    let slope = points.iter().map(|it| (it.0 - fresh) * (it.1 - ttft)).sum::<f64>() / spread;
    let weighted = points.iter().map(|it| {
        let leverage = 1.0 / n + (it.0 - fresh).powi(2) / spread;
        let residual = (it.1 - ttft - slope * (it.0 - fresh)) / (1.0 - leverage).max(f64::EPSILON);
        ((it.0 - fresh) * residual).powi(2)
    });
    let half = student_975(points.len() - 2) * weighted.sum::<f64>().sqrt() / spread;
    Some([slope, slope - half, slope + half].map(|ms| 1e3 * ms))
}
