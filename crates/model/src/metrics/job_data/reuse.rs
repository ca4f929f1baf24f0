//! What prompts that come again show of a cache: how much it keeps, and what its tokens save.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::CallTimes;
use crate::record::SharedPrompt;
use crate::stats::{percentile, student_975};

/// The longest chain of prompts with common begins that is followed.
const LONGEST_CHAIN: usize = 1_000;
/// The fewest calls for a slope.
const FEWEST: usize = 10;

/// What repeated prompts show of a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reuse {
    /// The number of tokens that the cache keeps is at least this: the most that a prompt needed that was still there. Absent
    /// if no prompt was.
    pub keeps_at_least: Option<u64>,
    /// It is less than this: the fewest that a prompt needed that was removed, of those that needed more than
    /// `keeps_at_least`. Absent if no such prompt was removed.
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
    /// The tokens of other prompts and answers since its begin was last used.
    since: u64,
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
        let needs = |it: &Return, tokens: u32| it.since + u64::from(tokens);
        let kept = returns.iter().filter(|it| it.cached > 0);
        let keeps_at_least = kept.map(|it| needs(it, it.cached.min(it.expected))).max();
        let is_evicted =
            |it: &&Return| it.cached < it.expected && Some(needs(it, it.expected)) > keeps_at_least;
        let evicted = || returns.iter().filter(is_evicted);
        let median = |of: fn(&Return) -> bool| {
            let mut values: Vec<f64> =
                returns.iter().filter(|it| of(it)).filter_map(|it| it.ttft_ms).collect();
            values.sort_unstable_by(f64::total_cmp);
            (!values.is_empty()).then(|| percentile(&values, 0.5))
        };
        let reuse = Self {
            keeps_at_least,
            keeps_less_than: evicted().map(|it| needs(it, it.expected)).min(),
            ttft_kept_ms: median(|it| it.cached >= it.expected),
            ttft_lost_ms: median(|it| it.cached == 0),
            ms_saved_per_1000: saved(&calls),
        };
        (reuse, evicted().map(|it| u64::from(it.expected - it.cached)).sum())
    }
}

/// The judged calls that share tokens with an earlier one. A call uses its prompt and answer in whole blocks, and with its
/// begin also the calls that it shares it with.
fn returns(calls: &[&(&CallTimes, Option<u32>)], block: u32) -> Vec<Return> {
    // Blocks are powers of two; the divisor of few cached counts may be a multiple.
    let block = 1 << block.trailing_zeros();
    let mut uses = Uses { tokens_at: vec![0; calls.len() + 1], last: HashMap::new() };
    let mut before: HashMap<Place, SharedPrompt> = HashMap::new();
    let mut returns = Vec::new();
    for (now, (call, expected)) in calls.iter().enumerate() {
        let Some((prompt, cached)) = call.cached else { continue };
        let shared = call.place.shared.filter(|shared| shared.tokens > 0);
        let since = shared.and_then(|shared| uses.since(shared.with));
        if let (Some(since), Some(expected)) = (since, expected.filter(|expected| *expected > 0)) {
            returns.push(Return { since, expected, cached, ttft_ms: call.ttft_ms() });
        }
        let whole = |tokens: u32| u64::from(tokens / block * block);
        let begin = shared.map_or(0, |shared| whole(shared.tokens));
        // The last token of an answer is not computed.
        let computed = prompt.saturating_add(call.output.saturating_sub(1));
        let end = u64::from(computed.div_ceil(block) * block);
        let place = (call.place.job, call.place.call);
        uses.set(place, now, (begin, end));
        before.extend(shared.map(|shared| (place, shared)));
        let chain = std::iter::successors(before.get(&place), |shared| before.get(&shared.with));
        for SharedPrompt { tokens, with } in chain.take(LONGEST_CHAIN) {
            uses.again(*with, now, whole(*tokens));
        }
    }
    returns
}

/// The place of a call: its job, and its number there.
type Place = (u32, u32);

/// When the tokens of each call were last used, and how many tokens were used since an instant: a Fenwick tree.
struct Uses {
    tokens_at: Vec<u64>,
    /// The last use of each call, and the tokens of its prompt and answer that were used: from, to.
    last: HashMap<Place, (usize, u64, u64)>,
}

impl Uses {
    /// The call uses these tokens now.
    fn set(&mut self, place: Place, now: usize, (from, to): (u64, u64)) {
        self.last.insert(place, (now, from, to));
        self.add(now, to.saturating_sub(from));
    }

    /// The tokens of a call up to `to` are used again. Those behind it keep their time.
    fn again(&mut self, place: Place, now: usize, to: u64) {
        let Some((at, from, end)) = self.last.get(&place).copied() else { return };
        let used = (from, to.min(end));
        self.add(at, used.1.saturating_sub(from).wrapping_neg());
        self.set(place, now, used);
    }

    fn add(&mut self, at: usize, change: u64) {
        let mut at = at + 1;
        while at < self.tokens_at.len() {
            self.tokens_at[at] = self.tokens_at[at].wrapping_add(change);
            at += at & at.wrapping_neg();
        }
    }

    /// The tokens of other calls that were used after those of a call.
    fn since(&self, place: Place) -> Option<u64> {
        let (last, ..) = self.last.get(&place)?;
        let up_to = |at: usize| {
            let steps = std::iter::successors(Some(at), |at| Some(at - (at & at.wrapping_neg())));
            steps
                .take_while(|at| *at > 0)
                .fold(0_u64, |sum, at| sum.wrapping_add(self.tokens_at[at]))
        };
        Some(up_to(self.tokens_at.len() - 1).wrapping_sub(up_to(last + 1)))
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
