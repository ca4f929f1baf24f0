//! Writes a trace as agentic Mooncake or as Weka. What was written is read again and compared, so a trace that a format
//! cannot hold is refused instead of changed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use serde_json::{Value, json};

use super::call::{Call, Content, GapKind, Trace};
use super::values::{MS, S};
use super::{error::JobsError, figures::Figures, read::read_bytes};

/// A format that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Agentic Mooncake: a row for each call.
    Mooncake,
    /// Weka: a row for each job.
    Weka,
}

/// A written trace.
#[derive(Debug)]
pub struct Written {
    /// The text of the file.
    pub text: String,
    /// What the format cannot hold and the trace has, such as `end of 8 calls`.
    pub left_out: Vec<String>,
}

/// A trace in another format.
///
/// # Errors
/// If the format needs what the trace lacks, or cannot hold its graph.
pub fn write(trace: &Trace, target: Target) -> Result<Written, JobsError> {
    let (format, written) = match target {
        Target::Mooncake => ("mooncake", mooncake(trace)),
        Target::Weka => ("weka", weka(trace)),
    };
    let refused = |problem| JobsError::NotWritable(format, problem);
    let (text, order) = written.map_err(refused)?;
    let again = read_bytes(text.as_bytes(), Path::new("the written trace"), None)?;
    let (had, has) = (Figures::of(trace, None), Figures::of(&again, None));
    let lost = had.values.iter().zip(&has.values).filter_map(|(had, has)| {
        let lost = has.absent.saturating_sub(had.absent);
        (lost > 0).then(|| format!("{} of {lost} calls", had.value))
    });
    match difference(trace, &again, &order) {
        Some(what) => Err(refused(format!(
            "it cannot hold {what}; write another format, or leave out the job"
        ))),
        None => Ok(Written { left_out: lost.collect(), text }),
    }
}

/// The lengths of a call and the ids of its blocks, which are those of the tree. `tail` adds an id for an incomplete last
/// block; otherwise it has none.
fn lengths(trace: &Trace, at: usize, tail: bool) -> Result<(u32, u32, Vec<u64>), String> {
    let call = &trace.calls[at];
    let (Some(Content::Blocks(node)), Some(block), Some(prompt), Some(output)) =
        (call.content.get(), trace.block_tokens.get(), call.prompt.get(), call.output.get())
    else {
        return Err(lacks(call, "block ids, or not both lengths"));
    };
    let mut ids: Vec<u64> =
        trace.blocks.path(node).iter().map(|node| u64::from(*node) - 1).collect();
    let most = if tail { prompt.div_ceil(block) } else { prompt / block } as usize;
    if ids.len() < most {
        ids.push((trace.blocks.count() + at) as u64);
    }
    ids.truncate(most);
    Ok((prompt, output, ids))
}

fn lacks(call: &Call, what: &str) -> String {
    format!("`{}` (line {}) has no {what}, which it needs", call.id, call.line)
}

fn in_unit(ns: i64, unit_ns: i64) -> Value {
    json!(ns as f64 / unit_ns as f64)
}

/// The rows, and the calls in their order.
fn mooncake(trace: &Trace) -> Result<(String, Vec<usize>), String> {
    let mut children: Vec<Vec<&str>> = vec![Vec::new(); trace.calls.len()];
    for call in &trace.calls {
        if let [parent] = call.parents[..]
            && trace.calls[parent as usize].session != call.session
        {
            children[parent as usize].push(&call.id);
        }
    }
    // A call without a start is as late as its end says.
    let start = |call: &Call| call.start_ns.or(call.end_ns).get();
    let starts = trace.calls.iter().filter_map(start);
    let origin = starts.min().unwrap_or(0);
    let mut text = String::new();
    for (at, call) in trace.calls.iter().enumerate() {
        let (prompt, output, ids) = lengths(trace, at, true)?;
        let waits: Vec<&str> =
            call.parents.iter().map(|at| trace.calls[*at as usize].id.as_str()).collect();
        let mut row = json!({
            "request_id": call.id, "session_id": trace.names[call.session as usize], "input_length": prompt,
            "output_length": output, "hash_ids": ids, "wait_for": waits, "branches": children[at],
            "prefix_reset": trace.previous(call).is_none(),
        });
        let tool = call.tool_ns.get();
        if call.parents.is_empty() {
            row["timestamp"] =
                in_unit(start(call).map_or(0, |start| start.saturating_sub(origin)), MS);
        }
        if let Some(tool) = tool {
            row["tool_wait_ms"] = in_unit(tool, MS);
        }
        if let Some(gap) = call.gap_ns.get() {
            row["delay"] = in_unit((gap - tool.unwrap_or(0)).max(0), MS);
        }
        text += &format!("{row}\n");
    }
    Ok((text, (0..trace.calls.len()).collect()))
}

/// The rows, and the calls in their order.
fn weka(trace: &Trace) -> Result<(String, Vec<usize>), String> {
    let mut jobs: BTreeMap<u32, BTreeMap<u32, Vec<usize>>> = BTreeMap::new();
    for (at, call) in trace.calls.iter().enumerate() {
        jobs.entry(call.job).or_default().entry(call.session).or_default().push(at);
    }
    let awaited: BTreeSet<u32> = trace
        .calls
        .iter()
        .flat_map(|call| {
            let sessions = call.parents.iter().map(|at| trace.calls[*at as usize].session);
            sessions.filter(|session| *session != call.session)
        })
        .collect();
    let scope = if shares_between_jobs(trace) { "global" } else { "local" };
    let (mut text, mut order) = (String::new(), Vec::new());
    for (job, sessions) in &jobs {
        let calls = || sessions.values().flatten().map(|at| &trace.calls[*at]);
        let origin = calls().filter_map(|call| call.start_ns.get()).min().unwrap_or(0);
        let mut entries: Vec<(i64, Value, Vec<usize>)> = Vec::new();
        for (session, members) in sessions {
            let rows = members.iter().map(|&at| Ok((request(trace, at, origin)?, at)));
            let mut rows = rows.collect::<Result<Vec<_>, String>>()?;
            rows.sort_by_key(|((start, _), _)| *start);
            if session == job {
                entries.extend(rows.into_iter().map(|((start, row), at)| (start, row, vec![at])));
                continue;
            }
            let (start, order) = (rows[0].0.0, rows.iter().map(|row| row.1).collect());
            let end = members.iter().filter_map(|at| trace.calls[*at].end_ns.get()).max();
            let agent = json!({
                "t": in_unit(start, S), "type": "subagent", "agent_id": trace.names[*session as usize],
                "duration_ms": end.map(|end| end.saturating_sub(origin).saturating_sub(start) / MS),
                "status": if awaited.contains(session) { "completed" } else { "async_launched" },
                "requests": rows.into_iter().map(|row| row.0.1).collect::<Vec<_>>(),
            });
            entries.push((start, agent, order));
        }
        entries.sort_by_key(|entry| entry.0);
        order.extend(entries.iter().flat_map(|entry| &entry.2));
        let row = json!({
            "id": trace.names[*job as usize], "models": [], "block_size": trace.block_tokens.get(),
            "hash_id_scope": scope, "requests": entries.into_iter().map(|entry| entry.1).collect::<Vec<_>>(),
        });
        text += &format!("{row}\n");
    }
    Ok((text, order))
}

/// The start of a call after `origin`, and the call in the form of Weka.
fn request(trace: &Trace, at: usize, origin: i64) -> Result<(i64, Value), String> {
    let call = &trace.calls[at];
    let (prompt, output, ids) = lengths(trace, at, false)?;
    let (Some(start), Some(end)) = (call.start_ns.get(), call.end_ns.get()) else {
        return Err(lacks(call, "start or no end"));
    };
    let duration = end.saturating_sub(start);
    let start = start.saturating_sub(origin);
    let mut row = json!({
        "t": in_unit(start, S), "type": "n", "in": prompt, "out": output, "hash_ids": ids,
        "api_time": in_unit(duration, S),
    });
    if let Some(gap) =
        call.gap_ns.get().filter(|_| call.parents.len() == 1 && trace.previous(call).is_some())
    {
        row["think_time"] = in_unit(gap, S);
    }
    match call.gap_kind {
        GapKind::Tool => row["input_types"] = json!(["tool_result"]),
        GapKind::Human => row["input_types"] = json!(["text"]),
        GapKind::Agent | GapKind::Unknown => {}
    }
    Ok((start, row))
}

fn shares_between_jobs(trace: &Trace) -> bool {
    let mut owner: HashMap<u32, u32> = HashMap::new();
    trace.calls.iter().any(|call| {
        let Some(Content::Blocks(node)) = call.content.get() else { return false };
        let first = trace.blocks.path(node).first().copied().unwrap_or(node);
        *owner.entry(first).or_insert(call.job) != call.job
    })
}

/// What differs between a trace and the one that was read from what was written. `order` has the calls of the first in
/// the order of the second.
fn difference(trace: &Trace, again: &Trace, order: &[usize]) -> Option<String> {
    let mut places = vec![0; trace.calls.len()];
    order.iter().enumerate().for_each(|(place, at)| places[*at] = place as u32);
    let mut sessions: HashMap<u32, u32> = HashMap::new();
    let mut pairs = order.iter().map(|at| &trace.calls[*at]).zip(&again.calls);
    let found = pairs.find_map(|(call, other)| {
        let parents: BTreeSet<u32> = call.parents.iter().map(|at| places[*at as usize]).collect();
        let lengths = |call: &Call| [call.prompt.get(), call.output.get(), call.keeps.get()];
        let checks = [
            ("parents", parents == other.parents.iter().copied().collect()),
            ("session", *sessions.entry(call.session).or_insert(other.session) == other.session),
            ("lengths", lengths(call) == lengths(other)),
            ("gap", call.gap_ns.get().is_none_or(|gap| Some(gap) == other.gap_ns.get())),
        ];
        checks.iter().find(|check| !check.1).map(|(what, _)| format!("the {what} of `{}`", call.id))
    });
    found.or_else(|| (again.calls.len() != trace.calls.len()).then(|| "all calls".to_owned()))
}
