//! The family of Mooncake: independent rows, rows with sessions, graphs of calls (agentic), and Bailian. Rows with
//! sessions are either whole prompts (cumulative) or only what is new (delta); their ids and lengths tell which.

use std::collections::HashMap;

use super::{Builder, MS, Rows, S, calls, each};
use crate::jobs::call::{Call, Content, Known};
use crate::{jobs::error::Problem, jobs::values::text};

/// Graphs of calls. `branches`, `prefix_reset` and `tool_events` repeat what other keys say.
pub fn agentic(builder: &mut Builder) -> Rows {
    builder.trace.blocks.is_chained = true;
    calls(MS)
}

/// Bailian: each row names the row before it in its conversation. Rows before the begin of the file are not known.
pub fn bailian(builder: &mut Builder) -> Rows {
    builder.trace.block_tokens = Known::Recorded(16);
    each(|row, line, builder| {
        let call = builder.read(row, line, S)?;
        let named = text(row, "/parent_chat_id").filter(|id| !id.starts_with('-'));
        let before = named.as_ref().and_then(|id| builder.call(id));
        if named.is_some() && before.is_none() {
            builder.note("a call that continues a conversation from before the begin of the file is read as its begin");
        }
        let session = before.map(|before| builder.trace.calls[before as usize].session);
        let session =
            session.map_or(call.id.clone(), |name| builder.trace.names[name as usize].clone());
        builder.push_after(call, &session, before).map(drop)
    })
}

/// Independent rows and rows with sessions. `is_whole` says whether rows are whole prompts, if it is known.
pub fn rows(builder: &mut Builder, mut is_whole: Option<bool>) -> Rows {
    builder.trace.blocks.is_chained = is_whole != Some(false);
    let (is_given, mut last) = (is_whole.is_some(), HashMap::new());
    Box::new(move |row, line, builder| {
        let Some(row) = row else {
            builder.note("times are read as milliseconds; `run` finds the unit from the rows");
            if is_whole == Some(false) {
                if !is_given {
                    builder.note("rows of a session are read as only what is new, because one is shorter than the prompt and answer before it; if that prompt was cut, set --format mooncake-cumulative");
                }
                make_whole(builder);
            }
            return Ok(());
        };
        let known = builder.trace.blocks.count();
        let at = builder.add(row, line, MS)?;
        let call = &builder.trace.calls[at as usize];
        let before: Option<u32> = last.insert(call.session, at);
        let Some(before) = before.filter(|_| !is_given) else { return Ok(()) };
        let shown = shows_whole(builder, call, &builder.trace.calls[before as usize], known);
        let shown = shown.or(is_whole.filter(|_| call.content.get().is_none()));
        if shown.is_none() || is_whole.is_some_and(|is_whole| Some(is_whole) != shown) {
            return Err(
                Problem::Sessions(builder.trace.names[call.session as usize].clone()).into()
            );
        }
        is_whole = shown;
        Ok(())
    })
}

/// Whether a row is a whole prompt, because it shares ids with the row before it in its session; or only what is new,
/// because it is shorter than that with its answer and has no known ids. `known` is the number of nodes before the row.
/// None if it is neither.
fn shows_whole(builder: &Builder, call: &Call, before: &Call, known: usize) -> Option<bool> {
    let is_long =
        call.prompt.get()? >= before.prompt.get()?.saturating_add(before.output.get().unwrap_or(0));
    let blocks = &builder.trace.blocks;
    match (call.content.get(), before.content.get()) {
        (Some(Content::Blocks(own)), Some(Content::Blocks(other))) => {
            let is_new = blocks.count() - known == blocks.depth(own) as usize;
            if blocks.shared(own, other) > 0 {
                Some(true)
            } else {
                (is_new && !is_long).then_some(false)
            }
        }
        _ => (!is_long).then_some(false),
    }
}

/// Makes whole prompts of what is new: each follows the previous prompt and its answer. The ids of later rows stand for
/// blocks behind an answer of unknown ids, so they are not used.
fn make_whole(builder: &mut Builder) {
    let (mut whole, mut without_ids): (HashMap<u32, u32>, u64) = (HashMap::new(), 0);
    for call in &mut builder.trace.calls {
        let Some(new) = call.prompt.get() else { continue };
        if let Some(&before) = whole.get(&call.session) {
            without_ids += u64::from(matches!(call.content.get(), Some(Content::Blocks(_))));
            call.prompt = Known::Inferred(before.saturating_add(new));
            (call.keeps, call.content) = (Known::Inferred(before), Known::Absent);
        }
        let answer = call.output.get().unwrap_or(0);
        whole.insert(call.session, call.prompt.get().unwrap_or(0).saturating_add(answer));
    }
    if without_ids > 0 {
        builder.note(&format!(
            "{without_ids} rows have ids of what is new behind an answer; these are not used"
        ));
    }
}
