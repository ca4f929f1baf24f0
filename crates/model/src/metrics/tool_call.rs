//! When an answer calls a tool: the first part of its first call, and the last part of its last call.

use super::{
    Definition, ErrorBound, ErrorMargin, JudgedOn, Origin, Pending, Timeline, TokenEvent, Value,
};
use crate::EventKind;

/// The time to the first part of a tool call.
pub static BEGIN: Definition = Definition {
    name: "tool_call_begin",
    formula: "first event of a tool call - send_start",
    origin: Some(Origin::Sent),
    notes: "Absent without streaming, and without a tool call.",
    value: Value::Request(begin),
    title: "Tool call begins",
    result_key: "tool_call_begin_ms",
    judged: JudgedOn::on_streams(begin, Pending::first_after_sent_ms),
    optional: true,
    bound: Some(ErrorBound { key: None, of: |timeline, margins| width(first(timeline), margins) }),
    exported: Some(14),
    ..Definition::DEFAULT
};

/// The time until the arguments of all tool calls are complete.
pub static END: Definition = Definition {
    name: "tool_call_end",
    formula: "last event of a tool call - send_start",
    value: Value::Request(end),
    title: "Tool calls complete",
    result_key: "tool_call_end_ms",
    judged: JudgedOn::on_streams(end, Pending::first_after_sent_ms),
    bound: Some(ErrorBound { key: None, of: |timeline, margins| width(last(timeline), margins) }),
    exported: Some(15),
    ..BEGIN
};

fn first<'t>(timeline: &'t Timeline<'_>) -> Option<&'t TokenEvent> {
    timeline.events.iter().find(|event| event.kind == EventKind::ToolCall)
}

fn last<'t>(timeline: &'t Timeline<'_>) -> Option<&'t TokenEvent> {
    timeline.events.iter().rfind(|event| event.kind == EventKind::ToolCall)
}

fn begin(timeline: &Timeline<'_>) -> Option<f64> {
    timeline.ms_to(first(timeline)?, Origin::Sent)
}

fn end(timeline: &Timeline<'_>) -> Option<f64> {
    timeline.ms_to(last(timeline)?, Origin::Sent)
}

fn width(event: Option<&TokenEvent>, margins: &mut Vec<ErrorMargin>) {
    margins.extend(event.map(|event| ErrorMargin::below(event.width_ms)));
}
