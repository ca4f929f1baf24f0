//! The figures of a trace, from the trace alone.

use std::collections::{BTreeMap, BTreeSet};

use inferometer_model::stats::median;
use serde::Serialize;

use super::call::{Call, Content, GapKind, Known, Trace};
use super::{ideal::cached, link::union};

/// Tokens that add up over the calls that have them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sum {
    /// The tokens.
    pub tokens: u64,
    /// The number of calls that have them.
    pub calls: u64,
}

/// What an endless cache would have, for the calls for which the trace says what their prompts share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Ideal {
    /// The size of a block of the cache, in tokens.
    pub block_tokens: u32,
    /// The prompts of these calls.
    pub prompt: Sum,
    /// The cached tokens.
    pub cached_tokens: u64,
    /// The part of the prompts that is cached.
    pub share: f64,
    /// The part of the prompts that is cached if a server does not cache answers.
    pub share_without_answers: f64,
}

/// The gaps of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Gaps {
    /// What happened in them.
    pub kind: &'static str,
    /// Their number.
    pub calls: u64,
    /// The number of those whose length is known.
    pub timed: u64,
    /// The sum of their lengths.
    pub seconds: Option<f64>,
}

/// Of how many calls a value is recorded, inferred, invented and absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Values {
    /// The kind of the value.
    pub value: &'static str,
    /// The calls for which the file states it.
    pub recorded: u64,
    /// The calls for which it follows from other values.
    pub inferred: u64,
    /// The calls for which it is drawn at random.
    pub invented: u64,
    /// The calls without it.
    pub absent: u64,
}

/// The figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// The number of calls.
    pub calls: u64,
    /// The number of jobs.
    pub jobs: u64,
    /// The number of sessions.
    pub sessions: u64,
    /// The number of calls in the longest chain of parents.
    pub depth: u32,
    /// The largest number of calls that one call starts: those that wait only for it.
    pub fan_out: u32,
    /// The number of jobs whose times are all known.
    pub timed_jobs: u64,
    /// The median of their durations.
    pub job_duration_median_s: Option<f64>,
    /// The longest of their durations.
    pub job_duration_max_s: Option<f64>,
    /// The part of their durations with at least one call in flight.
    pub model_share: Option<f64>,
    /// The part of their durations with at least one tool running. Tool times count from the begin of their gap.
    pub tool_share: Option<f64>,
    /// The gaps by kind.
    pub gaps: Vec<Gaps>,
    /// The largest number of prompt and answer tokens of a call.
    pub peak_context_tokens: Option<u32>,
    /// The prompts.
    pub prompt: Sum,
    /// The answers.
    pub output: Sum,
    /// The cached tokens that the recorded server reported, and the calls for which it did.
    pub recorded_cached: Sum,
    /// What an endless cache would have, if the trace says what prompts share.
    pub ideal: Option<Ideal>,
    /// Where the values come from. Gaps, tool times and kept tokens count only for calls with parents.
    pub values: Vec<Values>,
}

/// The kinds of gaps, and their names.
const KINDS: [(GapKind, &str); 4] = [
    (GapKind::Tool, "tool"),
    (GapKind::Human, "human"),
    (GapKind::Agent, "agent"),
    (GapKind::Unknown, "unknown"),
];

impl Figures {
    /// The figures of a trace. `block` is the size of a block of the cache; by default that of the trace, else 16.
    pub fn of(trace: &Trace, block: Option<u32>) -> Self {
        let calls = &trace.calls;
        let (mut depth, mut starts) = (vec![1; calls.len()], vec![0; calls.len()]);
        for &at in &trace.order {
            let parents = &calls[at as usize].parents;
            depth[at as usize] +=
                parents.iter().map(|parent| depth[*parent as usize]).max().unwrap_or(0);
            if let [parent] = parents[..] {
                starts[parent as usize] += 1;
            }
        }
        let mut jobs: BTreeMap<u32, Vec<&Call>> = BTreeMap::new();
        calls.iter().for_each(|call| jobs.entry(call.job).or_default().push(call));
        let timed: Vec<[f64; 3]> = jobs.values().filter_map(|calls| times(calls)).collect();
        let sum_of = |part: usize| timed.iter().map(|times| times[part]).sum::<f64>();
        let share = |part: usize| Some(sum_of(part) / sum_of(0)).filter(|share| share.is_finite());
        let has_tools = calls.iter().any(|call| call.tool_ns.get().is_some());
        let context = |call: &Call| Some(call.prompt.get()?.saturating_add(call.output.get()?));
        let gaps = KINDS.map(|(kind, name)| {
            let of_kind =
                || calls.iter().filter(|call| call.gap_kind == kind && !call.parents.is_empty());
            let timed = || of_kind().filter_map(|call| call.gap_ns.get());
            let (calls, timed, sum) =
                (of_kind().count(), timed().count(), timed().map(|ns| ns as f64 * 1e-9).sum());
            let seconds = (timed > 0).then_some(sum);
            Gaps { kind: name, calls: calls as u64, timed: timed as u64, seconds }
        });
        Self {
            calls: calls.len() as u64,
            jobs: jobs.len() as u64,
            sessions: calls.iter().map(|call| call.session).collect::<BTreeSet<_>>().len() as u64,
            depth: depth.into_iter().max().unwrap_or(0),
            fan_out: starts.into_iter().max().unwrap_or(0),
            timed_jobs: timed.len() as u64,
            job_duration_median_s: median(timed.iter().map(|times| times[0])),
            job_duration_max_s: timed.iter().map(|times| times[0]).reduce(f64::max),
            model_share: share(1),
            tool_share: share(2).filter(|_| has_tools),
            gaps: gaps.into_iter().filter(|gaps| gaps.calls > 0).collect(),
            peak_context_tokens: calls.iter().filter_map(context).max(),
            prompt: sum(calls, |call| call.prompt),
            output: sum(calls, |call| call.output),
            recorded_cached: sum(calls, |call| call.cached),
            ideal: ideal(trace, block),
            values: values(calls),
        }
    }
}

fn sum(calls: &[Call], value: fn(&Call) -> Known<u32>) -> Sum {
    let known = || calls.iter().filter_map(|call| value(call).get());
    Sum { tokens: known().map(u64::from).sum(), calls: known().count() as u64 }
}

/// The duration of a job, and the parts of it with a call in flight and with a tool running, in seconds. None if a time
/// is unknown.
fn times(calls: &[&Call]) -> Option<[f64; 3]> {
    let span = |call: &&Call| Some((call.start_ns.get()?, call.end_ns.get()?));
    let mut models: Vec<(i64, i64)> = calls.iter().map(span).collect::<Option<_>>()?;
    let tool = |call: &&Call| {
        let begin = call.start_ns.get()?.checked_sub(call.gap_ns.get()?)?;
        Some((begin, begin.checked_add(call.tool_ns.get()?)?))
    };
    let mut tools: Vec<(i64, i64)> = calls.iter().filter_map(tool).collect();
    models.sort_unstable();
    tools.sort_unstable();
    let (from, to) = (models[0].0, models.iter().map(|span| span.1).max()?);
    let parts = [
        to.checked_sub(from)?,
        union(models.into_iter(), from, to),
        union(tools.into_iter(), from, to),
    ];
    Some(parts.map(|ns| ns as f64 * 1e-9))
}

fn ideal(trace: &Trace, block: Option<u32>) -> Option<Ideal> {
    let block = block.or(trace.block_tokens.get()).unwrap_or(16).max(1);
    let [with, without] = [true, false].map(|answers| cached(trace, block, answers));
    let known = || trace.calls.iter().zip(&with).filter(|(_, cached)| cached.is_some());
    let tokens = known().filter_map(|(call, _)| call.prompt.get()).map(u64::from).sum();
    let total =
        |cached: &[Option<u32>]| cached.iter().flatten().copied().map(u64::from).sum::<u64>();
    let share = |cached: &[Option<u32>]| total(cached) as f64 / tokens as f64;
    (tokens > 0).then(|| Ideal {
        block_tokens: block,
        prompt: Sum { tokens, calls: known().count() as u64 },
        cached_tokens: total(&with),
        share: share(&with),
        share_without_answers: share(&without),
    })
}

fn values(calls: &[Call]) -> Vec<Values> {
    let count = |value, is_counted: fn(&Call) -> bool, origin: fn(&Call) -> usize| {
        let mut found = [0; 4];
        calls.iter().filter(|call| is_counted(call)).for_each(|call| found[origin(call)] += 1);
        let [recorded, inferred, invented, absent] = found;
        Values { value, recorded, inferred, invented, absent }
    };
    let has_parents = |call: &Call| !call.parents.is_empty();
    vec![
        count("order", |_| true, |call| call.order.origin()),
        count("start", |_| true, |call| call.start_ns.origin()),
        count("end", |_| true, |call| call.end_ns.origin()),
        count("gap", has_parents, |call| call.gap_ns.origin()),
        count("tool time", has_parents, |call| call.tool_ns.origin()),
        count("prompt length", |_| true, |call| call.prompt.origin()),
        count("prompt blocks", |_| true, |call| contents(call, true)),
        count("prompt messages", |_| true, |call| contents(call, false)),
        count("kept of previous", has_parents, |call| call.keeps.origin()),
        count("answer length", |_| true, |call| call.output.origin()),
        count("reasoning length", |_| true, |call| call.reasoning.origin()),
        count("cached by server", |_| true, |call| call.cached.origin()),
    ]
}

fn contents(call: &Call, blocks: bool) -> usize {
    let is_wanted = |content| matches!(content, Content::Blocks(_)) == blocks;
    if call.content.get().is_some_and(is_wanted) { call.content.origin() } else { 3 }
}
