//! Trajectories of agents: ATIF and SWE-agent. A step has at most one time, and the texts of ATIF's steps are not used.

use std::collections::HashMap;

use serde_json::Value;

use super::{Builder, Fault, Rows, S, each};
use crate::jobs::call::{Call, Known};
use crate::jobs::values::{find, kind_of, list, text, time, tokens};

/// ATIF: a document is a trajectory with its sub-agents. The time of an agent's step is the end of its call.
pub fn atif(_: &mut Builder) -> Rows {
    each(|row, line, builder| {
        builder.note("the texts of steps are not used");
        trajectory(row, line, None, &mut HashMap::new(), builder).map(drop)
    })
}

/// Adds the calls of a trajectory, the first one after the call `by`. `waiting` has the last calls of sub-agents, by the
/// call that started them. Returns the last call.
fn trajectory(
    row: &Value,
    line: u64,
    by: Option<u32>,
    places: &mut HashMap<String, u32>,
    builder: &mut Builder,
) -> Result<Vec<u32>, Fault> {
    let place = builder.trace.calls.len() + 1;
    let session =
        text(row, "/trajectory_id|/session_id").unwrap_or_else(|| format!("trajectory {place}"));
    let agent = text(row, "/agent/name").map(|name| builder.name(&name));
    let (mut calls, mut before): (Vec<u32>, Option<&Value>) = (Vec::new(), None);
    for step in list(row, "/steps") {
        let is_call = step["source"] == "agent"
            && step["llm_call_count"] != 0
            && step["is_copied_context"] != true;
        let input = before.replace(step);
        if !is_call {
            continue;
        }
        if step["llm_call_count"].as_u64().is_some_and(|count| count > 1) {
            builder.note("steps with several calls are read as one call");
        }
        let start =
            input.filter(|step| step["source"] != "agent").map(|step| time(step, "/timestamp", S));
        let call = Call {
            agent,
            start_ns: Known::inferred(start.transpose()?.flatten()),
            end_ns: Known::inferred(time(step, "/timestamp", S)?),
            gap_kind: kind_of(input),
            ..builder.read(step, line, S)?
        };
        let at = builder.push_after(call, &session, calls.last().copied().or(by))?;
        calls.push(at);
        let results = list(step, "/observation/results").iter();
        let agents = results.flat_map(|result| list(result, "/subagent_trajectory_ref"));
        places.extend(agents.filter_map(|agent| Some((text(agent, "/trajectory_id")?, at))));
    }
    for inner in list(row, "/subagent_trajectories") {
        let by = text(inner, "/trajectory_id").and_then(|id| places.get(&id).copied());
        let own = trajectory(inner, line, by, places, builder)?;
        let next = by.and_then(|by| calls.iter().find(|at| **at > by).copied());
        if let (Some(next), Some(&last)) = (next, own.last()) {
            builder.trace.calls[next as usize].parents.push(last);
        }
    }
    Ok(calls)
}

/// SWE-agent: a document is a trajectory, whose steps have the whole prompt and the time of their tool.
pub fn swe_agent(_: &mut Builder) -> Rows {
    each(|row, line, builder| {
        let session = format!("trajectory {}", builder.trace.calls.len() + 1);
        let (mut before, mut tool) = (None, None);
        let steps = list(row, "/trajectory");
        for step in steps {
            let mut call = builder.read(step, line, S)?;
            (call.tool_ns, call.gap_ns) = (Known::recorded(tool), Known::inferred(tool));
            if steps.len() == 1
                && row.pointer("/info/model_stats/api_calls") == Some(&Value::from(1))
            {
                call.prompt = Known::recorded(tokens(row, "/info/model_stats/tokens_sent")?);
                call.output = Known::recorded(tokens(row, "/info/model_stats/tokens_received")?);
            }
            before = Some(builder.push_after(call, &session, before)?);
            tool = time(step, "/execution_time", S)?;
        }
        if steps.len() > 1 && find(row, "/info/model_stats").is_some() {
            builder.note(
                "lengths are known only for all calls of a trajectory together, and are not used",
            );
        }
        Ok(())
    })
}
