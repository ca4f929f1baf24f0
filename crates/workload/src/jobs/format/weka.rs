//! Weka (AgentX, cc-traces): a session with its sub-agents, whose calls lie inside it. All times count from the start of
//! the session. The last, incomplete block of a prompt has no id.

use serde_json::Value;

use super::{Builder, Fault, Rows, S};
use crate::jobs::values::{list, nanos, text, tokens};
use crate::{jobs::builder::Starter, jobs::call::GapKind, jobs::error::Problem, trace::RowReason};

/// The reader. Times of some files are whole seconds.
pub fn rows(builder: &mut Builder) -> Rows {
    builder.rounding_ns = S;
    Box::new(|row, line, builder| {
        let Some(row) = row else { return Ok(()) };
        let block = tokens(row, "/block_size")?.filter(|block| *block > 0);
        let block = block.ok_or(RowReason::NotTokens("block_size"))?;
        builder.block_size(block)?;
        let is_local = text(row, "/hash_id_scope").is_none_or(|scope| scope == "local");
        builder.scope = is_local.then_some(builder.place);
        let session = text(row, "/id")
            .unwrap_or_else(|| format!("session {}", builder.trace.calls.len() + 1));
        requests(row, line, &session, builder)
    })
}

fn requests(row: &Value, line: u64, session: &str, builder: &mut Builder) -> Result<(), Fault> {
    for request in list(row, "/requests") {
        let at = request.get("t").and_then(|at| nanos(at, S));
        if at.is_some_and(|at| at % S != 0) {
            builder.rounding_ns = 0;
        }
        if request["type"] == "subagent" {
            let inner =
                list(request, "/requests").iter().filter_map(|call| nanos(call.get("t")?, S)).min();
            let agent = text(request, "/agent_id")
                .unwrap_or_else(|| format!("agent {}", builder.started.len() + 1));
            // Rounded times may differ by a second.
            if inner.zip(at).is_some_and(|(inner, at)| inner.saturating_add(S) < at) {
                return Err(Problem::InnerTime(agent).into());
            }
            let name = format!("{session}/{agent}");
            let in_background =
                text(request, "/status").is_some_and(|status| status.starts_with("async"));
            let starter = Starter { session: builder.name(session), in_background };
            let child = builder.name(&name);
            builder.started.insert(child, starter);
            requests(request, line, &name, builder)?;
            continue;
        }
        let read = builder.read(request, line, S).and_then(|mut call| {
            let has = |kind: &str| list(request, "/input_types").iter().any(|found| found == kind);
            call.gap_kind = match has("tool_result") {
                true => GapKind::Tool,
                false if has("text") => GapKind::Human,
                false => GapKind::Unknown,
            };
            call.agent = text(row, "/subagent_type").map(|agent| builder.name(&agent));
            call.prompt.get().ok_or(RowReason::Missing("in"))?;
            builder.push(call, Some(session))
        });
        if let Err(fault) = read {
            builder.left_out(line, fault)?;
        }
    }
    Ok(())
}
