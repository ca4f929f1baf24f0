//! Collects the calls of a trace while its rows are read. `link` then finds what follows from all rows together.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use inferometer_plan::spec::MAX_LENGTH;
use serde_json::Value;

use super::call::{Call, Content, GapKind, Known, Trace};
use super::error::{Fault, Problem};
use super::prompt::{MESSAGES, SYSTEM, TOOLS, head_parts, turns, unmarked};
use super::tree::ROOT;
use super::values::{Paths, find, kind_of, list, text, time, tokens};
use crate::trace::RowReason;

// Where the values of a call are in a row, in all formats. No two formats use one name for different values, except the
// start and the end; their readers set these.
const ID: Paths = "/request_id|/custom_id|/chat_id|/trace_key|/span_id|/spanId|/event/request/request_id\
    |/event/request/x_request_id";
pub const SESSION: Paths = "/event/agent_context/trajectory_id|/event/agent_context/program_id\
    |/event/agent_context/session_id|/attributes/gen_ai.conversation.id|/session_id|/Session ID\
    |/trace_id|/headers/x-session-id";
const STARTED_BY: Paths =
    "/event/agent_context/parent_trajectory_id|/event/agent_context/parent_session_id";
const AGENT: Paths = "/agent_name|/attributes/gen_ai.agent.name";
const WAITS: Paths = "/wait_for";
const START: Paths =
    "/timing_events/0/timestamp|/timestamp|/created_time|/TIMESTAMP|/Timestamp|/startTime|/t";
const END: Paths = "/endTime";
const DURATION: Paths = "/api_time|/Elapsed time";
const GAP: Paths = "/delay|/delay_ms|/think_time";
const TOOL: Paths = "/tool_wait_ms";
const PROMPT: Paths = "/input_length|/in|/ContextTokens|/Request tokens|/input_tokens_total\
    |/event/request/replay/input_length|/attributes/gen_ai.usage.input_tokens\
    |/attributes/gen_ai.usage.prompt_tokens|/metrics/prompt_tokens|/message/usage/input_tokens\
    |/response/body/usage/prompt_tokens|/response/body/usage/input_tokens|/response/usage/prompt_tokens\
    |/response/usage/input_tokens|/usage/prompt_tokens|/prompt_tokens";
/// Parts of the prompt that `input_tokens` of Anthropic does not count.
const PROMPT_PLUS: [Paths; 2] = [
    "/message/usage/cache_creation_input_tokens|/response/usage/cache_creation_input_tokens",
    "/message/usage/cache_read_input_tokens|/response/usage/cache_read_input_tokens",
];
const OUTPUT: Paths = "/output_length|/out|/GeneratedTokens|/Response tokens|/output_tokens\
    |/event/request/output_tokens|/attributes/gen_ai.usage.output_tokens\
    |/attributes/gen_ai.usage.completion_tokens|/metrics/completion_tokens\
    |/message/usage/output_tokens|/response/body/usage/completion_tokens|/response/body/usage/output_tokens\
    |/response/usage/completion_tokens|/response/usage/output_tokens|/usage/completion_tokens\
    |/completion_tokens";
const REASONING: Paths = "/reasoning_output_tokens|/attributes/gen_ai.usage.reasoning.output_tokens\
    |/metadata/usage_object/completion_tokens_details/reasoning_tokens\
    |/response/body/usage/completion_tokens_details/reasoning_tokens\
    |/response/usage/completion_tokens_details/reasoning_tokens\
    |/response/body/usage/output_tokens_details/reasoning_tokens\
    |/response/usage/output_tokens_details/reasoning_tokens\
    |/usage/completion_tokens_details/reasoning_tokens";
const CACHED: Paths = "/prefix_tokens|/attributes/gen_ai.usage.cache_read.input_tokens|/metrics/cached_tokens\
    |/message/usage/cache_read_input_tokens\
    |/metadata/usage_object/prompt_tokens_details/cached_tokens\
    |/response/body/usage/prompt_tokens_details/cached_tokens\
    |/response/body/usage/input_tokens_details/cached_tokens\
    |/response/usage/input_tokens_details/cached_tokens\
    |/response/usage/prompt_tokens_details/cached_tokens|/response/usage/cache_read_input_tokens\
    |/usage/prompt_tokens_details/cached_tokens";
const BLOCKS: Paths = "/event/request/replay/input_sequence_hashes|/hash_ids";
const PREVIOUS: Paths = "/body/previous_response_id|/previous_response_id";
/// What readers of single formats use.
const OTHERS: Paths = "/first_input_event_type|/newly_append_tokens|/call_type|/response";
/// All of these, to find keys that are not used.
const ALL: [Paths; 20] = [
    ID, SESSION, STARTED_BY, AGENT, WAITS, START, END, DURATION, GAP, TOOL, PROMPT, OUTPUT,
    REASONING, CACHED, BLOCKS, MESSAGES, TOOLS, SYSTEM, PREVIOUS, OTHERS,
];

/// The session that started another one.
#[derive(Clone, Copy, Debug)]
pub struct Starter {
    /// The session that did.
    pub session: u32,
    /// Whether it goes on without waiting for the end of the other one.
    pub in_background: bool,
}

/// The calls so far.
#[derive(Debug, Default)]
pub struct Builder {
    /// What is known of the trace.
    pub trace: Trace,
    /// The ids of each call's parents, as far as a row lists them.
    pub waits: Vec<(u32, String)>,
    /// When tools ran: session, from, to in nanoseconds.
    pub tools: Vec<(u32, i64, i64)>,
    /// Whether the format records when tools run. Then a gap without a tool has a tool time of 0.
    pub has_tools: bool,
    /// Sub-agents: their sessions, and the sessions that started them.
    pub started: BTreeMap<u32, Starter>,
    /// The place of the current session, if ids of blocks mean nothing in others.
    pub scope: Option<(u32, u64)>,
    /// The file and the line of what is added.
    pub place: (u32, u64),
    /// By how much the times of the format are rounded, in nanoseconds.
    pub rounding_ns: i64,
    names: HashMap<String, u32>,
    ids: HashMap<String, u32>,
    /// The last call with each prompt that consists of messages.
    by_prompt: HashMap<u32, u32>,
}

impl Builder {
    /// The number of a name.
    pub fn name(&mut self, name: &str) -> u32 {
        if let Some(&known) = self.names.get(name) {
            return known;
        }
        self.trace.names.push(name.to_owned());
        *self.names.entry(name.to_owned()).or_insert(self.trace.names.len() as u32 - 1)
    }

    /// The call with an id.
    pub fn call(&self, id: &str) -> Option<u32> {
        self.ids.get(id).copied()
    }

    /// Adds a sentence about the trace, unless it is there already.
    pub fn note(&mut self, note: &str) {
        if !self.trace.notes.iter().any(|known| known == note) {
            self.trace.notes.push(note.to_owned());
        }
    }

    /// Counts a part of a row that cannot be used. A contradiction is still an error.
    ///
    /// # Errors
    /// The contradiction.
    pub fn left_out(&mut self, line: u64, fault: Fault) -> Result<(), Fault> {
        match fault {
            Fault::Row(reason) => self.trace.left_out.add_row(reason, line),
            Fault::Trace(_) => return Err(fault),
        }
        Ok(())
    }

    /// Reads a call from a row that is one, and adds it.
    ///
    /// # Errors
    /// If the row cannot be used, or contradicts an earlier one.
    pub fn add(&mut self, row: &Value, line: u64, unit_ns: i64) -> Result<u32, Fault> {
        let mut call = self.read(row, line, unit_ns)?;
        if call.prompt.get().is_none() && call.content.get().is_none() {
            return Err(RowReason::Missing("prompt length").into());
        }
        if self.trace.calls.is_empty() {
            let is_used = |key: &str| {
                let mut paths = ALL.iter().flat_map(|paths| paths.split('|'));
                paths.any(|path| path[1..].split('/').next() == Some(key))
            };
            let keys = row.as_object().into_iter().flatten().map(|(key, _)| key.as_str());
            let unused = keys.filter(|key| !is_used(key)).collect::<Vec<_>>().join(", ");
            if !unused.is_empty() {
                self.note(&format!("keys of the first row that are not used: {unused}"));
            }
        }
        let mut session = text(row, SESSION);
        if let Some(previous) = text(row, PREVIOUS) {
            self.note("requests with `previous_response_id` have only what is new; it is not used");
            call.content = Known::Absent;
            if let Some(before) = self.call(&previous) {
                let name = self.trace.calls[before as usize].session;
                session = Some(self.trace.names[name as usize].clone());
                (call.parents, call.order) = (vec![before], Known::Recorded(()));
            }
        }
        let added = self.push(call, session.as_deref())?;
        if let Some(id) = text(row, "/response/body/id") {
            self.ids.entry(id).or_insert(added);
        }
        let parents = find(row, WAITS).and_then(|(list, _)| list.as_array()).into_iter().flatten();
        self.waits.extend(parents.filter_map(|id| Some((added, id.as_str()?.to_owned()))));
        if let Some(session) = text(row, STARTED_BY) {
            let starter = Starter { session: self.name(&session), in_background: false };
            self.started.entry(self.trace.calls[added as usize].session).or_insert(starter);
        }
        Ok(added)
    }

    /// Reads a call from a row. Times that are numbers have the unit `unit_ns`.
    ///
    /// # Errors
    /// If the row cannot be used, or contradicts an earlier one.
    pub fn read(&mut self, row: &Value, line: u64, unit_ns: i64) -> Result<Call, Fault> {
        let mut prompt = tokens(row, PROMPT)?;
        if find(row, PROMPT).is_some_and(|(_, path)| path.ends_with("usage/input_tokens")) {
            for paths in PROMPT_PLUS {
                let more = tokens(row, paths)?.unwrap_or(0);
                prompt = prompt.map(|prompt| prompt.saturating_add(more));
            }
        }
        let [start, end, duration, gap, tool] =
            [START, END, DURATION, GAP, TOOL].map(|paths| time(row, paths, unit_ns));
        let (start, tool) = (start?, tool?.map(|tool| tool.max(0)));
        let (end, duration) = (end?, duration?);
        let gap = gap?.map(|gap| gap.max(0));
        let after_tool = tool.map(|tool| tool.saturating_add(gap.unwrap_or(0)));
        let (blocks, messages) = (self.blocks(row)?, self.whole_prompt(row));
        let (mut id, file) = (text(row, ID).unwrap_or_default(), self.place.0);
        // Files of batches number their requests each from the begin.
        if file > 0 && row.get("custom_id").is_some() {
            id.push_str(&format!(" of file {}", file + 1));
        }
        Ok(Call {
            id,
            agent: text(row, AGENT).map(|agent| self.name(&agent)),
            start_ns: Known::recorded(start),
            end_ns: Known::recorded(end)
                .or(Known::inferred(start.zip(duration).and_then(|(at, ns)| at.checked_add(ns)))),
            gap_ns: Known::inferred(after_tool).or(Known::recorded(gap)),
            tool_ns: Known::recorded(tool),
            gap_kind: find(row, MESSAGES)
                .map_or(GapKind::Unknown, |(messages, _)| kind_of(list(messages, "").last())),
            prompt: Known::recorded(prompt),
            content: Known::recorded(
                blocks.map(Content::Blocks).or(messages.map(Content::Messages)),
            ),
            output: Known::recorded(tokens(row, OUTPUT)?),
            reasoning: Known::recorded(tokens(row, REASONING)?),
            cached: Known::recorded(tokens(row, CACHED)?),
            file,
            line,
            ..Call::default()
        })
    }

    /// Adds a call. Without a session, the call continues the one whose messages its prompt begins with; if there is
    /// none, it is a session of its own.
    ///
    /// # Errors
    /// If a prompt or an answer has no tokens or too many, or the id is that of another call.
    pub fn push(&mut self, mut call: Call, session: Option<&str>) -> Result<u32, Fault> {
        match (call.prompt.get(), call.output.get()) {
            (Some(0), _) => Err(RowReason::NoInput)?,
            (_, Some(0)) => Err(RowReason::NoOutput)?,
            (one, other) if one.max(other) > Some(MAX_LENGTH) => Err(RowReason::TooManyTokens)?,
            _ => {}
        }
        let new = self.trace.calls.len() as u32;
        if call.id.is_empty() {
            call.id = format!("row {}", new + 1);
        }
        if self.ids.insert(call.id.clone(), new).is_some() {
            return Err(Problem::TwoCalls(call.id).into());
        }
        let before = self.begun_by(&call).filter(|_| session.is_none());
        call.session = match before {
            Some(before) => self.trace.calls[before as usize].session,
            None => self.name(session.unwrap_or(&call.id)),
        };
        if let Some(before) = before {
            (call.parents, call.order) = (vec![before], Known::Inferred(()));
        }
        if let Some(Content::Messages(node)) = call.content.get() {
            self.by_prompt.insert(node, new);
        }
        call.file = self.place.0;
        self.trace.calls.push(call);
        Ok(new)
    }

    /// Removes the calls of a row that cannot be used after all, so that a row is used as a whole or not.
    pub fn forget(&mut self, kept: usize) {
        if self.trace.calls.len() > kept {
            let is_kept = |at: u32| (at as usize) < kept;
            self.trace.calls.truncate(kept);
            self.waits.retain(|(at, _)| is_kept(*at));
            self.ids.retain(|_, at| is_kept(*at));
            self.by_prompt.retain(|_, at| is_kept(*at));
        }
    }

    /// Sets the size of a block, which a row states.
    ///
    /// # Errors
    /// If an earlier row states another one.
    pub fn block_size(&mut self, tokens: u32) -> Result<(), Problem> {
        let known = self.trace.block_tokens.get().unwrap_or(tokens);
        self.trace.block_tokens = Known::Recorded(known);
        if known == tokens { Ok(()) } else { Err(Problem::BlockSizes(tokens, known)) }
    }

    /// Adds a call whose row says which call is before it in its session.
    ///
    /// # Errors
    /// As [`Builder::push`].
    pub fn push_after(
        &mut self,
        mut call: Call,
        session: &str,
        before: Option<u32>,
    ) -> Result<u32, Fault> {
        (call.parents, call.order) = (before.into_iter().collect(), Known::Recorded(()));
        self.push(call, Some(session))
    }

    /// The call whose whole prompt is the longest beginning of this call's messages.
    fn begun_by(&self, call: &Call) -> Option<u32> {
        let Some(Content::Messages(node)) = call.content.get() else { return None };
        let above = |node: &u32| (*node != ROOT).then(|| self.trace.messages.parent(*node));
        std::iter::successors(Some(node), above)
            .skip(1)
            .find_map(|node| self.by_prompt.get(&node).copied())
    }

    /// Adds the ids of a row's blocks, and returns the node of the last one.
    fn blocks(&mut self, row: &Value) -> Result<Option<u32>, Fault> {
        let Some((ids, _)) = find(row, BLOCKS).filter(|(ids, _)| !ids.is_object()) else {
            return Ok(None);
        };
        let mut node = ROOT;
        for id in ids.as_array().ok_or(RowReason::Hashes)? {
            let mut id = id.as_u64().ok_or(RowReason::Hashes)?;
            if let Some(scope) = self.scope {
                id = hash((scope, id));
            }
            node = self.trace.blocks.child(node, id).ok_or(Problem::TwoMeanings(id))?;
        }
        Ok((node != ROOT).then_some(node))
    }

    /// Adds tools, system prompt and messages of a row, and returns the node of the last message.
    fn whole_prompt(&mut self, row: &Value) -> Option<u32> {
        let (messages, _) = find(row, MESSAGES)?;
        let head = self.head(row);
        Some(turns(messages).iter().fold(head, |node, message| self.message(node, message)))
    }

    /// Adds the tools and the system prompt of a row, and returns the node of the last one.
    pub fn head(&mut self, row: &Value) -> u32 {
        head_parts(row).iter().fold(ROOT, |node, part| self.message(node, part))
    }

    /// Adds a message behind others, and returns its node.
    pub fn message(&mut self, before: u32, message: &Value) -> u32 {
        let (text, marked) = unmarked(message);
        if marked {
            self.note("marks of cache breakpoints (`cache_control`) are no part of prompts, and are not sent again");
        }
        let node = self.trace.messages.child(before, hash(&text));
        let node = node.expect("invariant: messages are not chained");
        if self.trace.texts.is_empty() {
            self.trace.texts.push("".into());
        }
        if node as usize == self.trace.texts.len() {
            self.trace.texts.push(text.into());
        }
        node
    }
}

/// A hash that is the same in each process.
pub fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
