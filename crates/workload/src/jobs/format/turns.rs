//! Sessions as lists of turns or messages, whose prompts hold all turns before: AIPerf, SGLang, MLPerf, vLLM and trie. In
//! the stored prompt, an assistant's message without content stands for the answer of the measured server.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{Builder, Fault, MS, Rows, S, each};
use crate::jobs::call::{Call, Content, GapKind, Known};
use crate::jobs::values::{kind_of, list, text, time, tokens};
use crate::{jobs::error::Problem, jobs::tree::ROOT, trace::RowReason};

/// A call, the session that it starts, and the session and the turn that wait for its end.
type Start = (u32, String, Option<(String, usize)>);

/// A session of turns with delays: AIPerf's `multi_turn` and `dag`. Turns may start other sessions, and wait for them.
pub fn aiperf(_: &mut Builder) -> Rows {
    let mut calls: HashMap<String, Vec<u32>> = HashMap::new();
    let mut started: Vec<Start> = Vec::new();
    Box::new(move |row, line, builder| {
        let Some(row) = row else {
            let all = &mut builder.trace.calls;
            for (by, name, join) in std::mem::take(&mut started) {
                let own: &[u32] = calls.get(&name).map_or(&[], Vec::as_slice);
                let (Some(&first), Some(&last)) = (own.first(), own.last()) else {
                    builder.place = all[by as usize].place();
                    return Err(Problem::NoParent(all[by as usize].id.clone(), name).into());
                };
                all[first as usize].parents.push(by);
                let join = join.and_then(|(session, turn)| calls.get(&session)?.get(turn));
                join.into_iter().for_each(|at| all[*at as usize].parents.push(last));
            }
            return Ok(());
        };
        let place = builder.trace.calls.len() + 1;
        let session = text(row, "/session_id").unwrap_or_else(|| format!("session {place}"));
        let own = turns(list(row, "/turns"), &session, line, builder)?;
        for (turn, &at) in
            list(row, "/turns").iter().filter(|turn| turn["role"] != "system").zip(&own)
        {
            for spawn in list(turn, "/spawns").iter().chain(list(turn, "/forks")) {
                let join = spawn.get("join_at").and_then(Value::as_u64);
                let join = join.map(|turn| (session.clone(), turn as usize));
                let name = std::slice::from_ref(spawn).iter().filter(|name| name.is_string());
                let children =
                    list(spawn, "/children").iter().chain(name).filter_map(Value::as_str);
                started.extend(children.map(|child| (at, child.to_owned(), join.clone())));
            }
            if turn.get("forks").is_some() {
                builder.note("forked sessions take over a prompt from their parent; it is not in their messages here");
            }
        }
        calls.insert(session, own);
        Ok(())
    })
}

/// Adds the turns of a session, each with what is new, and returns their calls.
fn turns(
    turns: &[Value],
    session: &str,
    line: u64,
    builder: &mut Builder,
) -> Result<Vec<u32>, Fault> {
    let (mut node, mut own) = (ROOT, Vec::new());
    for turn in turns {
        let said =
            json!({ "role": turn["role"].as_str().unwrap_or("user"), "content": turn["text"] });
        let messages = list(turn, "/messages");
        let messages = if messages.is_empty() { std::slice::from_ref(&said) } else { messages };
        node = messages.iter().fold(node, |node, message| builder.message(node, message));
        if said["role"] == "system" {
            continue;
        }
        let read = builder.read(turn, line, MS)?;
        let call = Call {
            content: Known::Recorded(Content::Messages(node)),
            gap_kind: kind_of(messages.last()),
            output: read.output.or(Known::inferred(tokens(turn, "/max_tokens")?)),
            ..read
        };
        own.push(builder.push_after(call, session, own.last().copied())?);
        node = builder.message(node, &json!({"role": "assistant"}));
    }
    Ok(own)
}

/// SGLang's agentic trace: lists of turns, each with what is new and the length of the whole prompt.
pub fn sglang(_: &mut Builder) -> Rows {
    each(|row, line, builder| {
        for conversation in list(row, "/conversations") {
            let session = format!("conversation {}", builder.trace.calls.len() + 1);
            turns(list(conversation, ""), &session, line, builder)?;
        }
        Ok(())
    })
}

/// Messages of conversations, one a row (MLPerf) or in a list (vLLM). Each message of an assistant is a call.
pub fn messages(_: &mut Builder) -> Rows {
    let mut open: HashMap<String, (u32, Option<u32>, Option<i64>, GapKind)> = HashMap::new();
    each(move |row, line, builder| {
        let of_row = std::slice::from_ref(row);
        let place = builder.trace.calls.len() + 1;
        let session =
            text(row, "/conversation_id|/id").unwrap_or_else(|| format!("conversation {place}"));
        let messages = row.get("messages").map_or(of_row, |_| list(row, "/messages"));
        let known = open.get(&session).copied().filter(|_| row.get("messages").is_none());
        let (mut node, mut before, mut delay, mut kind) =
            known.unwrap_or((builder.head(row), None, None, GapKind::Unknown));
        for message in messages {
            match text(message, "/role").as_deref() {
                None => return Err(RowReason::Missing("role").into()),
                Some("assistant") => {
                    let content = Known::Recorded(Content::Messages(node));
                    let gap_ns = Known::recorded(delay.take());
                    let call = Call { content, gap_ns, gap_kind: kind, line, ..Call::default() };
                    before = Some(builder.push_after(call, &session, before)?);
                }
                Some(_) => {
                    delay = time(message, "/delay_seconds", S)?.or(delay);
                    kind = kind_of(Some(message));
                }
            }
            node = builder.message(node, message);
        }
        open.insert(session, (node, before, delay, kind));
        Ok(())
    })
}

/// trie: a row has the lengths of a session. What a tool takes is the whole gap.
pub fn trie(_: &mut Builder) -> Rows {
    each(|row, line, builder| {
        let session = format!("session {}", builder.trace.calls.len() + 1);
        let answers = list(row, "/assistant_response_length").iter();
        let (mut before, mut kept) = (None, 0);
        let last = row.get("final_assistant_response_length").filter(|last| !last.is_null());
        for (turn, answer) in answers.chain(last).enumerate() {
            let new = match turn.checked_sub(1) {
                None => tokens(row, "/input_prompt_length")?,
                Some(turn) => {
                    tokens(&json!({ "n": list(row, "/tool_call_output_length").get(turn) }), "/n")?
                }
            };
            let new = new.ok_or(RowReason::Missing("tool_call_output_length"))?;
            let latency =
                turn.checked_sub(1).and_then(|turn| list(row, "/tool_call_latency").get(turn));
            let output = tokens(&json!({ "n": answer }), "/n")?;
            let prompt: u32 = new.saturating_add(kept);
            let call = Call {
                prompt: if turn == 0 { Known::Recorded(prompt) } else { Known::Inferred(prompt) },
                keeps: Known::inferred((turn > 0).then_some(kept)),
                gap_ns: Known::recorded(time(&json!({ "n": latency }), "/n", S)?),
                gap_kind: GapKind::Tool,
                output: Known::recorded(output),
                line,
                ..Call::default()
            };
            before = Some(builder.push_after(call, &session, before)?);
            kept = prompt.saturating_add(output.unwrap_or(0));
        }
        before.map(drop).ok_or(Fault::Row(RowReason::NoOutput))
    })
}
