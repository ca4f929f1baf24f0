//! What an endless cache would save. A prompt finds the beginnings of all prompts whose calls ended before it started,
//! and what it keeps of the previous prompt and answer. The server caches whole blocks, and always computes the last
//! token of a prompt.

use std::collections::HashMap;

use super::call::{Call, Content, Trace};
use super::tree::{ROOT, Tree};

/// Events at one instant, in their order: what ended is cached, then calls start. A call whose end is not known does not
/// help calls that start at the same instant.
const END: u8 = 0;
const START: u8 = 1;
const ASSUMED_END: u8 = 2;

/// The tokens of each call that an endless cache with blocks of `block` tokens would have; None if the trace does not
/// say it. With `answers`, the answers of earlier calls are cached as well.
///
/// Where the trace has no ends, a call in another job counts as ended when it has started; calls that one parent starts
/// together do not help each other.
pub fn cached(trace: &Trace, block: u32, answers: bool) -> Vec<Option<u32>> {
    let mut events: Vec<(i64, u8, u32)> = Vec::with_capacity(trace.calls.len() * 2);
    let (starts, ends) = bounds(trace);
    for (at, call) in trace.calls.iter().enumerate() {
        events.push((starts[at], START, at as u32));
        let is_recorded = call.end_ns.get().is_some() && ends[at] > starts[at];
        let kind = if is_recorded { END } else { ASSUMED_END };
        events.push((ends[at], kind, at as u32));
    }
    events.sort_unstable();
    let knows_kept = trace.calls.iter().any(|call| call.keeps.get().is_some());
    let mut cache = Cache { is_in: vec![false; trace.blocks.count()], tree: &trace.blocks };
    let mut found = vec![None; trace.calls.len()];
    for (_, event, at) in events {
        let call = &trace.calls[at as usize];
        if event != START {
            cache.add(call);
            continue;
        }
        call.parents.iter().for_each(|parent| cache.add(&trace.calls[*parent as usize]));
        let Some(prompt) = call.prompt.get() else { continue };
        let shared = cache.depth(call).zip(trace.block_tokens.get());
        let shared = shared.map(|(depth, tokens)| depth.saturating_mul(tokens));
        let before = trace.previous(call);
        let most = before.filter(|_| !answers).and_then(|before| before.prompt.get());
        let kept = call.keeps.get().map(|kept| kept.min(most.unwrap_or(kept)));
        let is_new = before.is_none() && knows_kept;
        let tokens = shared.max(kept).or(is_new.then_some(0));
        found[at as usize] = tokens.map(|tokens| tokens.min(prompt - 1) / block.max(1) * block);
    }
    found
}

/// The start and the end of each call: as recorded, or the earliest that its parents and gaps allow. A call without
/// start and parents starts at its end.
fn bounds(trace: &Trace) -> (Vec<i64>, Vec<i64>) {
    let calls = &trace.calls;
    let origin = calls.iter().filter_map(|call| call.start_ns.get()).min().unwrap_or(0);
    let (mut starts, mut together) = (vec![origin; calls.len()], HashMap::new());
    let end = |at: u32, starts: &[i64], together: &HashMap<u32, i64>| {
        let Call { end_ns, parents, .. } = &calls[at as usize];
        let start = starts[at as usize];
        let last = if let [parent] = parents[..] { together.get(&parent) } else { None };
        end_ns.get().unwrap_or(last.copied().unwrap_or(start).max(start))
    };
    // Calls with one common parent follow each other in this order, before all calls that wait for them.
    for &at in &trace.order {
        let call = &calls[at as usize];
        let ended = call.parents.iter().map(|parent| end(*parent, &starts, &together)).max();
        let earliest = ended.map(|end| end.saturating_add(call.gap_ns.get().unwrap_or(0)));
        let start = call.start_ns.get().or(earliest).or(call.end_ns.get()).unwrap_or(origin);
        starts[at as usize] = start;
        if let [parent] = call.parents[..] {
            let last = together.entry(parent).or_insert(start);
            *last = start.max(*last);
        }
    }
    let ends = (0..calls.len() as u32).map(|at| end(at, &starts, &together)).collect();
    (starts, ends)
}

struct Cache<'a> {
    tree: &'a Tree,
    is_in: Vec<bool>,
}

impl Cache<'_> {
    fn add(&mut self, call: &Call) {
        let Some(Content::Blocks(mut node)) = call.content.get() else { return };
        while node != ROOT && !std::mem::replace(&mut self.is_in[node as usize], true) {
            node = self.tree.parent(node);
        }
    }

    /// The number of blocks at the beginning of a prompt that are in the cache.
    fn depth(&self, call: &Call) -> Option<u32> {
        let Some(Content::Blocks(mut node)) = call.content.get() else { return None };
        while node != ROOT && !self.is_in[node as usize] {
            node = self.tree.parent(node);
        }
        Some(self.tree.depth(node))
    }
}
