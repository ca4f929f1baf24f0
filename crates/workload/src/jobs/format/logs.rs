//! Session logs of Claude Code and Codex. A line has one time, so starts and tool times follow from the lines around a call.
//! System prompts and definitions of tools are not in these files.

use std::collections::HashMap;

use serde_json::Value;

use super::{Builder, Fault, Rows, S, each};
use crate::jobs::call::{Call, Content, GapKind, Known};
use crate::jobs::values::{kind_of, list, text, time};
use crate::{jobs::builder::Starter, jobs::tree::ROOT};

/// What is known before a call of a session.
struct Open {
    /// The last message.
    node: u32,
    /// The message and the time before the call, and what happened before it.
    prompt: (u32, Option<i64>, GapKind),
    /// When tools were called, by the id of the tool call.
    tools: HashMap<String, i64>,
    /// The sums of input, cached, output and reasoning tokens so far.
    sums: [u64; 4],
}

impl Default for Open {
    fn default() -> Self {
        let prompt = (ROOT, None, GapKind::Unknown);
        Self { node: ROOT, prompt, tools: HashMap::new(), sums: [0; 4] }
    }
}

impl Open {
    /// Adds a message from outside at this time, before the next call.
    fn input(&mut self, message: &Value, at: Option<i64>, builder: &mut Builder) {
        self.node = builder.message(self.node, message);
        self.prompt = (self.node, at, kind_of(Some(message)));
    }

    /// The call that follows the input so far, and ends at this time.
    fn call(&self, call: Call, end: Option<i64>) -> Call {
        let (node, start, gap_kind) = self.prompt;
        let (start_ns, end_ns) = (Known::inferred(start), Known::inferred(end));
        let content = Known::Inferred(Content::Messages(node));
        Call { content, start_ns, end_ns, gap_kind, ..call }
    }

    /// Adds the time of a tool, from its call to its result at this time.
    fn tool(&mut self, id: Option<String>, session: &str, to: Option<i64>, builder: &mut Builder) {
        if let Some((from, to)) = id.and_then(|id| self.tools.remove(&id)).zip(to) {
            let session = builder.name(session);
            builder.tools.push((session, from, to));
        }
    }
}

/// Claude Code: a call is several lines of an assistant with one request id, each with the usage so far.
pub fn claude(builder: &mut Builder) -> Rows {
    builder.has_tools = true;
    let mut sessions: HashMap<String, Open> = HashMap::new();
    // The last message and the session of each line.
    let mut lines: HashMap<String, (u32, String)> = HashMap::new();
    each(move |row, line, builder| {
        let Some(root) = text(row, "/sessionId") else { return Ok(()) };
        let is_agent = row["isSidechain"] == true;
        let uuid = text(row, "/uuid").unwrap_or_default();
        let above = text(row, "/parentUuid").and_then(|id| lines.get(&id).cloned());
        let above = above.filter(|(_, of)| of.starts_with(&root));
        let session = match (text(row, "/agentId"), &above) {
            _ if !is_agent => root.clone(),
            (Some(agent), _) => format!("{root}/{agent}"),
            // Without a name, a side chain is named by its first line.
            (None, Some((_, of))) if *of != root => of.clone(),
            _ => format!("{root}/{uuid}"),
        };
        let above = above.filter(|(_, of)| *of == session).map(|(node, _)| node);
        let open = sessions.entry(session.clone()).or_default();
        let (message, at) = (&row["message"], time(row, "/timestamp", S)?);
        let parts = list(message, "/content");
        match row["type"].as_str() {
            Some("user") => {
                for part in parts {
                    open.tool(text(part, "/tool_use_id"), &session, at, builder);
                }
                let is_result = parts.iter().any(|part| part["type"] == "tool_result");
                if row["isCompactSummary"] == true {
                    open.node = ROOT;
                } else if let Some(above) = above.filter(|_| !is_result) {
                    open.node = above;
                }
                open.input(message, at, builder);
            }
            Some("assistant") if message["model"] != "<synthetic>" => {
                let id = text(row, "/requestId|/message/id|/uuid").unwrap_or_default();
                let read = builder.read(row, line, S)?;
                match builder.call(&id).map(|call| &mut builder.trace.calls[call as usize]) {
                    // Another line of a call, or its copy in the file of a resumed session.
                    Some(call) => {
                        call.end_ns = Known::inferred(at.max(call.end_ns.get()));
                        call.output = read.output.or(call.output);
                    }
                    None => builder
                        .push(Call { id, ..open.call(read, at) }, Some(&session))
                        .map(drop)?,
                }
                let used = parts.iter().filter(|part| part["type"] == "tool_use");
                open.tools.extend(used.filter_map(|part| Some((text(part, "/id")?, at?))));
                open.node = builder.message(open.node, message);
            }
            _ => {}
        }
        let is_message = row.get("message").is_some();
        lines.insert(uuid, (above.filter(|_| !is_message).unwrap_or(open.node), session.clone()));
        if is_agent {
            let starter = Starter { session: builder.name(&root), in_background: false };
            let child = builder.name(&session);
            builder.started.insert(child, starter);
        }
        Ok(())
    })
}

/// Codex: a call ends with a line of sums of tokens, which may come twice. The first sums may have calls before the file
/// in them, and the sums begin anew if a session is resumed.
pub fn codex(builder: &mut Builder) -> Rows {
    builder.has_tools = true;
    let (mut session, mut open) = (String::new(), Open::default());
    each(move |row, line, builder| {
        let (payload, at) = (&row["payload"], time(row, "/timestamp", S)?);
        let kind = payload["type"].as_str().unwrap_or_default();
        match row["type"].as_str() {
            Some("session_meta") => {
                session = text(payload, "/id").unwrap_or_else(|| format!("session {line}"));
                open = Open::default();
            }
            Some("response_item") if kind.ends_with("_output") => {
                open.tool(text(payload, "/call_id"), &session, at, builder);
                open.input(payload, at, builder);
            }
            Some("response_item")
                if payload["role"].as_str().is_some_and(|role| role != "assistant") =>
            {
                open.input(payload, at, builder);
            }
            Some("response_item") => {
                open.tools.extend(text(payload, "/call_id").zip(at));
                open.node = builder.message(open.node, payload);
            }
            Some("event_msg") if kind == "token_count" => {
                let name = ["input", "cached_input", "output", "reasoning_output"];
                let of = |usage: &str| {
                    name.map(|name| payload["info"][usage][format!("{name}_tokens")].as_u64())
                };
                let (sums, last) = (of("total_token_usage"), of("last_token_usage"));
                let Some(input) = sums[0].filter(|sum| *sum != open.sums[0]) else {
                    return Ok(());
                };
                let before = std::mem::replace(&mut open.sums, sums.map(|sum| sum.unwrap_or(0)));
                let is_anew = before[0] == 0 || input < before[0];
                let since = if is_anew { [0; 4] } else { before };
                let sums = if is_anew && last[0].is_some() { last } else { sums };
                let [prompt, cached, output, reasoning] = [0, 1, 2, 3].map(|at| {
                    let new = sums[at].map(|sum| sum.saturating_sub(since[at]));
                    Known::inferred(new.map(|tokens| u32::try_from(tokens).unwrap_or(u32::MAX)))
                });
                let call = Call { prompt, cached, output, reasoning, line, ..Call::default() };
                builder.push(open.call(call, at), Some(&session))?;
            }
            Some("compacted") => open.node = builder.message(ROOT, payload),
            _ => {}
        }
        Ok::<(), Fault>(())
    })
}
