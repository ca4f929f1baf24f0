//! Spans of OpenTelemetry with the attributes of generative AI: calls of models, tools and agents. Both the current names
//! and those before them are read; spans are in a list of the document, in OTLP, or one a row.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::{Builder, Fault, Rows, S};
use crate::jobs::builder::Starter;
use crate::jobs::call::{Call, Known};
use crate::jobs::values::{list, nanos, text};

const CONVERSATION: &str = "/gen_ai.conversation.id";
const TOOLS: &str = "gen_ai.tool.definitions";

struct Span {
    parent: Option<String>,
    /// The session, if the span or its document names one.
    session: Option<String>,
    kind: Kind,
}

enum Kind {
    Call(Box<Call>),
    Tool(i64, i64),
    Agent,
}

/// The reader. Spans may come before their parents, so calls are added after the last row.
pub fn rows(builder: &mut Builder) -> Rows {
    builder.has_tools = true;
    let mut spans: Vec<(String, Span)> = Vec::new();
    let mut tools: HashMap<String, Value> = HashMap::new();
    Box::new(move |row, line, builder| {
        let Some(row) = row else { return add(std::mem::take(&mut spans), builder) };
        let scopes =
            list(row, "/resourceSpans").iter().flat_map(|resource| list(resource, "/scopeSpans"));
        let of_scopes = scopes.flat_map(|scope| list(scope, "/spans"));
        let itself = row.get("attributes").map(|_| row);
        for span in list(row, "/spans").iter().chain(of_scopes).chain(itself) {
            let mut attributes = attributes(span);
            // Some writers state the tools only with the first call of a conversation.
            match (text(&attributes, CONVERSATION), attributes.get(TOOLS).cloned()) {
                (Some(session), Some(found)) => drop(tools.insert(session, found)),
                (Some(session), None) if tools.contains_key(&session) => {
                    attributes[TOOLS] = tools[&session].clone();
                }
                _ => {}
            }
            let read = read(span, &attributes, text(row, "/session_id"), line, builder);
            if let Err(fault) = read.map(|span| spans.extend(span)) {
                builder.left_out(line, fault)?;
            }
        }
        Ok(())
    })
}

/// Reads a span, unless it is of none of the three kinds.
fn read(
    span: &Value,
    attributes: &Value,
    session: Option<String>,
    line: u64,
    builder: &mut Builder,
) -> Result<Option<(String, Span)>, Fault> {
    let name = text(attributes, "/gen_ai.operation.name")
        .or_else(|| text(span, "/name"))
        .unwrap_or_default();
    // Whole numbers are nanoseconds; other times are dates.
    let at = |paths| {
        let value = text(span, paths)?;
        let is_nanos = value.len() > 15 && value.parse::<i64>().is_ok();
        nanos(&Value::from(value), if is_nanos { 1 } else { S })
    };
    let start = at("/start_time|/startTimeUnixNano|/startTime");
    let end = at("/end_time|/endTimeUnixNano|/endTime");
    let kind = match name.split(' ').next().unwrap_or_default() {
        "chat" | "text_completion" | "generate_content" => {
            let mut row = json!({ "attributes": attributes });
            row["span_id"] = text(span, "/span_id|/spanId").map_or(Value::Null, Value::from);
            let call = builder.read(&row, line, S)?;
            Kind::Call(Box::new(Call {
                start_ns: Known::recorded(start),
                end_ns: Known::recorded(end),
                ..call
            }))
        }
        "execute_tool" => match start.zip(end) {
            Some((start, end)) => Kind::Tool(start, end),
            None => return Ok(None),
        },
        "invoke_agent" | "create_agent" => Kind::Agent,
        _ => return Ok(None),
    };
    let session =
        text(attributes, CONVERSATION).or(session).or_else(|| text(span, "/trace_id|/traceId"));
    let parent = text(span, "/parent_span_id|/parentSpanId");
    Ok(Some((text(span, "/span_id|/spanId").unwrap_or_default(), Span { parent, session, kind })))
}

/// The attributes as an object, with messages and definitions of tools parsed if they are texts.
fn attributes(span: &Value) -> Value {
    let mut found: Map<String, Value> = match &span["attributes"] {
        Value::Object(attributes) => attributes.clone(),
        pairs => list(pairs, "")
            .iter()
            .filter_map(|pair| {
                let value = pair.get("value")?.as_object()?.values().next()?.clone();
                Some((pair.get("key")?.as_str()?.to_owned(), value))
            })
            .collect(),
    };
    if let Some(messages) = found.remove("gen_ai.prompt") {
        found.entry("gen_ai.input.messages").or_insert(messages);
    }
    for name in ["gen_ai.input.messages", "gen_ai.system_instructions", TOOLS] {
        let parsed = found.get(name).and_then(Value::as_str).map(serde_json::from_str);
        found.extend(parsed.into_iter().flatten().map(|parsed| (name.to_owned(), parsed)));
    }
    Value::Object(found)
}

/// Adds the calls. The session of an agent is that of its own calls; an agent inside another one is its sub-agent.
fn add(spans: Vec<(String, Span)>, builder: &mut Builder) -> Result<(), Fault> {
    let places: HashMap<&str, usize> =
        spans.iter().enumerate().map(|(at, (id, _))| (id.as_str(), at)).collect();
    let agent = |span: &Span| {
        let above = |at: &usize| places.get(spans[*at].1.parent.as_deref()?).copied();
        let first = places.get(span.parent.as_deref()?).copied();
        std::iter::successors(first, above)
            .take(1_000) // Parents may form a cycle.
            .find(|at| matches!(spans[*at].1.kind, Kind::Agent))
    };
    let mut sessions: HashMap<usize, String> = HashMap::new();
    for (_, span) in &spans {
        if let (Kind::Call(_), Some(agent), Some(session)) =
            (&span.kind, agent(span), &span.session)
        {
            sessions.entry(agent).or_insert_with(|| session.clone());
        }
    }
    for (_, span) in &spans {
        let of_agent = agent(span);
        let session = of_agent.and_then(|agent| sessions.get(&agent)).or(span.session.as_ref());
        match &span.kind {
            Kind::Agent => {}
            Kind::Tool(from, to) => {
                let session = builder.name(session.map_or("", String::as_str));
                builder.tools.push((session, *from, *to));
            }
            Kind::Call(call) => {
                let session = span.session.as_ref().or(session).map(String::as_str);
                builder.place = call.place();
                let added = builder.push((**call).clone(), session);
                let outer = of_agent.and_then(|at| sessions.get(&agent(&spans[at].1)?));
                match (added, outer) {
                    (Err(fault), _) => builder.left_out(call.line, fault)?,
                    (Ok(at), Some(outer)) if Some(outer.as_str()) != session => {
                        let starter =
                            Starter { session: builder.name(outer), in_background: false };
                        builder.started.insert(builder.trace.calls[at as usize].session, starter);
                    }
                    _ => {}
                }
            }
        }
    }
    Ok(())
}
