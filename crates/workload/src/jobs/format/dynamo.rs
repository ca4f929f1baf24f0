//! Request traces of Dynamo, and rounds of TraceLab: calls whose tools have times.

use serde_json::Value;

use super::{Builder, MS, Rows, S, each};
use crate::jobs::call::{GapKind, Known};
use crate::jobs::values::{list, text, time};
use crate::{jobs::builder::SESSION, trace::RowReason};

/// Dynamo: a row is the end of a call or of a tool. Calls have no start.
pub fn dynamo(builder: &mut Builder) -> Rows {
    builder.trace.blocks.is_chained = true;
    builder.has_tools = true;
    each(|row, line, builder| {
        if row.pointer("/event/request").is_none() {
            let session = text(row, SESSION).ok_or(RowReason::Missing("session_id"))?;
            let from = time(row, "/event/tool/started_at_unix_ms", MS)?;
            let to = time(row, "/event/tool/ended_at_unix_ms|/event/event_time_unix_ms", MS)?;
            let (from, to) = from.zip(to).ok_or(RowReason::Missing("started_at_unix_ms"))?;
            let session = builder.name(&session);
            builder.tools.push((session, from, to));
            return Ok(());
        }
        let block = row.pointer("/event/request/replay/trace_block_size").and_then(Value::as_u64);
        let block = block.and_then(|block| u32::try_from(block).ok()).filter(|block| *block > 0);
        block.map_or(Ok(()), |block| builder.block_size(block))?;
        let at = builder.add(row, line, MS)?;
        let call = &mut builder.trace.calls[at as usize];
        call.start_ns = Known::Absent;
        call.end_ns = Known::recorded(time(row, "/event/event_time_unix_ms", MS)?);
        Ok(())
    })
}

/// TraceLab: a row is a call with the tools that it called. What the provider cached is not what prompts share.
pub fn tracelab(builder: &mut Builder) -> Rows {
    builder.has_tools = true;
    each(|row, line, builder| {
        let at = builder.add(row, line, S)?;
        let last = list(row, "/timing_events").last().map(|event| time(event, "/timestamp", S));
        let call = &mut builder.trace.calls[at as usize];
        call.end_ns = Known::recorded(last.transpose()?.flatten());
        call.gap_kind = match text(row, "/first_input_event_type").as_deref() {
            Some("tool_result") => GapKind::Tool,
            Some("user_message") => GapKind::Human,
            _ => GapKind::Unknown,
        };
        let session = call.session;
        for tool in list(row, "/tools") {
            let from = time(tool, "/emitted_at", S)?;
            let length = time(tool, "/tool_internal_latency_ms", MS)?;
            let to = from.zip(length).map(|(from, length)| from.saturating_add(length));
            let to = to.or(time(tool, "/result_at", S)?);
            builder.tools.extend(from.zip(to).map(|(from, to)| (session, from, to)));
        }
        Ok(())
    })
}
