//! Makes the rows of a trace from calls as they begin and end. A row has the ids of blocks, or the whole request. What waits
//! for what follows from the prompts: a call goes on from the one whose prompt its own begins with.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::builder::hash;
use super::call::GapKind;
use super::prompt::prompt_parts;
use super::tree::{ROOT, Tree};
use super::values::{MS, S, kind_of, text};

/// The tokens of a block.
const BLOCK: u32 = 16;
/// Prompts are compared in pieces of this many bytes, about a block, and of what is left of each message.
const PIECE: usize = 64;
/// Bytes of a token, before any call has shown how many there are.
const BYTES_OF_TOKEN: f64 = 4.0;
/// Where clients name what all calls of one task have in common.
const JOB: &str = "/metadata/user_id|/prompt_cache_key|/metadata/session_id";

/// What is known of an answer.
#[derive(Clone, Debug, Default)]
pub struct Answered {
    /// When it ended, in nanoseconds.
    pub end_ns: i64,
    /// The id that the server gave it.
    pub id: Option<String>,
    /// The tokens of the prompt and of the answer, as the server states them.
    pub tokens: Option<(u32, u32)>,
    /// The parts of the answer that arrived. They stand for its tokens if the server states none.
    pub parts: u32,
    /// The tokens of the prompt that came from the cache.
    pub cached: Option<u32>,
    /// The tokens of the reasoning, which are part of the answer.
    pub reasoning: Option<u32>,
    /// Whether it has tool calls.
    pub calls_tools: bool,
}

/// How many rows were made, and what is uncertain about them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Rows.
    pub rows: u64,
    /// Of these, rows whose lengths are estimated from bytes and parts, because the server states none.
    pub estimated: u64,
    /// Of these, first calls of sessions that were hung on a call by its time alone.
    pub by_time: u64,
}

/// A call that has begun.
struct Open {
    begin_ns: i64,
    node: u32,
    /// The last node that a prompt which goes on has, too: of a text, the last whole piece; and the text after it.
    whole: (u32, Vec<u8>),
    session: u32,
    job: Option<String>,
    parents: Vec<usize>,
    kind: GapKind,
    by_time: bool,
    body: Value,
}

/// A call that has a row.
struct Ended {
    id: String,
    session: u32,
    job: Option<String>,
    end_ns: i64,
    calls_tools: bool,
    /// Whether its session has gone on.
    is_over: bool,
    /// The sessions that its tools started.
    started: Vec<u32>,
}

/// The state of a recording.
#[derive(Default)]
pub struct Recorder {
    with_texts: bool,
    prompts: Tree,
    /// The bytes of each node, and the tokens of the prompt up to its end.
    nodes: Vec<(u64, Option<u32>)>,
    /// The ids of blocks, by the node in which they end, their place and their length.
    blocks: HashMap<(u32, u32, u32), u64>,
    open: HashMap<u64, Open>,
    ended: Vec<Ended>,
    /// The calls by the last node of their prompts, and the text after it.
    by_prompt: HashMap<u32, Vec<(usize, Vec<u8>)>>,
    by_answer: HashMap<String, (usize, u32)>,
    last_of_session: HashMap<u32, usize>,
    sessions: u32,
    origin_ns: Option<i64>,
    /// Bytes and tokens of the prompts whose tokens are stated.
    seen: (u64, u64),
    counts: Counts,
}

impl Recorder {
    /// An empty recording. `with_texts`: rows have whole requests.
    pub fn new(with_texts: bool) -> Self {
        Self { with_texts, nodes: vec![(0, Some(0))], ..Self::default() }
    }

    /// The rows so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The number of calls that have begun and not ended.
    pub fn open(&self) -> usize {
        self.open.len()
    }

    /// Begins a call with this body. `session`: what the client's header names it. Returns whether it has a prompt.
    pub fn begin(&mut self, key: u64, begin_ns: i64, session: Option<&str>, body: Value) -> bool {
        let mut row = Value::Object(Map::from_iter([("body".to_owned(), body)]));
        let Some((parts, last)) = prompt_parts(&row) else { return false };
        let body = row["body"].take();
        let before = body["previous_response_id"].as_str().and_then(|id| self.by_answer.get(id));
        let (before, from) = before.map_or((None, ROOT), |(at, node)| (Some(*at), *node));
        let prompt = body["prompt"].as_str().map(str::as_bytes);
        let tail = prompt.map_or(0, |text| text.len() % PIECE);
        let (mut node, mut whole) = (from, from);
        for piece in parts.iter().flat_map(|part| part.as_bytes().chunks(PIECE)) {
            node = self.piece(node, piece);
            whole = if tail > 0 && piece.len() < PIECE { whole } else { node };
        }
        let tail = prompt.map_or_else(Vec::new, |text| text[text.len() - tail..].to_vec());
        let before = before.or_else(|| self.begun_by(node, prompt));
        let job = session.map(str::to_owned).or_else(|| text(&body, JOB));
        let mut by_time = false;
        let (session, parents) = if let Some(before) = before {
            self.ended[before].is_over = true;
            (self.ended[before].session, self.joined(before))
        } else {
            self.sessions += 1;
            let starter = self.starter(job.as_deref());
            by_time = starter.is_some();
            if let Some(starter) = starter {
                self.ended[starter].started.push(self.sessions);
            }
            (self.sessions, starter.into_iter().collect())
        };
        self.origin_ns.get_or_insert(begin_ns);
        let kind = kind_of(Some(&last));
        let body = if self.with_texts { body } else { Value::Null };
        self.open.insert(
            key,
            Open {
                begin_ns,
                node,
                whole: (whole, tail),
                session,
                job,
                parents,
                kind,
                by_time,
                body,
            },
        );
        true
    }

    /// Forgets a call that has no usable answer.
    pub fn forget(&mut self, key: u64) {
        self.open.remove(&key);
    }

    /// Ends a call, and returns its row; `None` if the call is not known.
    pub fn end(&mut self, key: u64, answer: &Answered) -> Option<Value> {
        let call = self.open.remove(&key)?;
        let bytes: u64 =
            self.prompts.path(call.node).iter().map(|node| self.nodes[*node as usize].0).sum();
        let (prompt, output) = answer.tokens.unwrap_or_else(|| {
            let (known, tokens) = self.seen;
            let per_token = if tokens > 0 { known as f64 / tokens as f64 } else { BYTES_OF_TOKEN };
            (((bytes as f64 / per_token).round() as u32).max(1), answer.parts)
        });
        if answer.tokens.is_some() {
            self.seen = (self.seen.0 + bytes, self.seen.1 + u64::from(prompt));
        }
        let id = format!("call-{}", self.ended.len() + 1);
        let mut row = self.row(&call, &id, answer.end_ns);
        let Open { node, whole, session, job, by_time, body, .. } = call;
        if self.with_texts {
            let stated = answer.tokens.map(|_| usage(prompt, output, answer));
            row.insert("body".to_owned(), body);
            row.insert(
                "response".to_owned(),
                json!({ "body": { "id": answer.id, "usage": stated } }),
            );
        } else {
            row.insert("input_length".to_owned(), json!(prompt));
            row.insert("output_length".to_owned(), json!(output));
            row.insert("hash_ids".to_owned(), json!(self.block_ids(node, prompt)));
            let others =
                [("prefix_tokens", answer.cached), ("reasoning_output_tokens", answer.reasoning)];
            for (name, tokens) in others {
                tokens.map(|tokens| row.insert(name.to_owned(), json!(tokens)));
            }
        }
        self.counts.rows += 1;
        self.counts.estimated += u64::from(answer.tokens.is_none());
        self.counts.by_time += u64::from(by_time);
        let at = self.ended.len();
        self.by_prompt.entry(whole.0).or_default().push((at, whole.1));
        answer.id.clone().map(|id| self.by_answer.insert(id, (at, node)));
        self.last_of_session.insert(session, at);
        self.ended.push(Ended {
            id,
            session,
            job,
            end_ns: answer.end_ns,
            calls_tools: answer.calls_tools,
            is_over: false,
            started: Vec::new(),
        });
        Some(Value::Object(row))
    }

    /// Adds a piece of a prompt behind others.
    fn piece(&mut self, before: u32, piece: &[u8]) -> u32 {
        let node = self.prompts.child(before, hash(piece));
        let node = node.expect("invariant: pieces are not chained");
        if node as usize == self.nodes.len() {
            self.nodes.push((piece.len() as u64, None));
        }
        node
    }

    /// The call whose whole prompt is the longest beginning of this one. `prompt`: its text, if it is one text.
    fn begun_by(&self, node: u32, prompt: Option<&[u8]>) -> Option<usize> {
        let above = |node: &u32| (*node != ROOT).then(|| self.prompts.parent(*node));
        let mut nodes =
            std::iter::successors(Some(node), above).skip(usize::from(prompt.is_none()));
        nodes.find_map(|node| {
            let rest = prompt
                .and_then(|text| text.get(self.prompts.depth(node) as usize * PIECE..))
                .unwrap_or_default();
            let is_begin = |tail: &[u8]| {
                rest.starts_with(tail) && (prompt.is_none() || rest.len() > tail.len())
            };
            let calls = self.by_prompt.get(&node)?;
            calls.iter().rev().find(|(_, tail)| is_begin(tail)).map(|(at, _)| *at)
        })
    }

    /// A call and the last ones of the sessions that its tools started: the next call of its session waits for all.
    fn joined(&self, before: usize) -> Vec<usize> {
        let last = |session| self.last_of_session.get(session).copied();
        let started = self.ended[before].started.iter().filter_map(last);
        std::iter::once(before).chain(started).collect()
    }

    /// The call whose tools started a session that begins now: the only one of its task whose tools run. Without one, the
    /// last call of the task, if the client names the task.
    fn starter(&self, job: Option<&str>) -> Option<usize> {
        let mut own =
            (0..self.ended.len()).rev().filter(|at| self.ended[*at].job.as_deref() == job);
        let is_waiting = |at: &usize| self.ended[*at].calls_tools && !self.ended[*at].is_over;
        let mut waiting = own.clone().filter(is_waiting);
        match (waiting.next(), waiting.next()) {
            (Some(only), None) => Some(only),
            _ => job.and_then(|_| own.next()),
        }
    }

    /// The keys that both kinds of rows have. Times of rows with blocks are in milliseconds, otherwise in seconds.
    fn row(&self, call: &Open, id: &str, end_ns: i64) -> Map<String, Value> {
        let after = call.parents.iter().map(|at| self.ended[*at].end_ns).max();
        let begin = call.begin_ns - self.origin_ns.unwrap_or(call.begin_ns);
        let waits: Vec<&str> = call.parents.iter().map(|at| self.ended[*at].id.as_str()).collect();
        let mut row = json!({
            "request_id": id, "session_id": format!("session-{}", call.session), "wait_for": waits,
        });
        if self.with_texts {
            row["startTime"] = json!(begin as f64 / S as f64);
            row["endTime"] = json!((begin + end_ns - call.begin_ns) as f64 / S as f64);
        } else {
            let ms = |ns: i64| json!(ns.max(0) as f64 / MS as f64);
            match after {
                None => row["timestamp"] = ms(begin),
                Some(end)
                    if call.kind == GapKind::Tool && call.parents.len() == 1 && !call.by_time =>
                {
                    (row["tool_wait_ms"], row["delay"]) = (ms(call.begin_ns - end), json!(0));
                }
                Some(end) => row["delay"] = ms(call.begin_ns - end),
            }
            row["api_time"] = ms(end_ns - call.begin_ns);
        }
        match row {
            Value::Object(row) => row,
            _ => unreachable!("invariant: it was made as an object"),
        }
    }

    /// The ids of a prompt's blocks. The tokens of what is new in it are divided by bytes. An id names all that is
    /// before it, too, so prompts have ids in common exactly as far as their texts are the same.
    fn block_ids(&mut self, node: u32, prompt: u32) -> Vec<u64> {
        let path = self.prompts.path(node);
        let known = path.iter().rposition(|node| self.nodes[*node as usize].1.is_some());
        let from = known.and_then(|at| self.nodes[path[at] as usize].1).unwrap_or(0);
        let new = &path[known.map_or(0, |at| at + 1)..];
        let bytes: u64 = new.iter().map(|node| self.nodes[*node as usize].0).sum();
        let mut so_far = 0;
        for node in new {
            let (own, end) = &mut self.nodes[*node as usize];
            so_far += *own;
            let share = so_far as f64 / bytes.max(1) as f64;
            *end = Some(from + (f64::from(prompt.saturating_sub(from)) * share).round() as u32);
        }
        let mut place = 0;
        let ids = (0..prompt.div_ceil(BLOCK)).map(|block| {
            let end = prompt.min((block + 1) * BLOCK);
            let is_before = |node: u32| self.nodes[node as usize].1.unwrap_or(0) < end;
            while place + 1 < path.len() && is_before(path[place]) {
                place += 1;
            }
            let next = self.blocks.len() as u64 + 1;
            *self.blocks.entry((path[place], block, end - block * BLOCK)).or_insert(next)
        });
        ids.collect()
    }
}

/// The counts of a call in the words of OpenAI.
fn usage(prompt: u32, output: u32, answer: &Answered) -> Value {
    json!({
        "prompt_tokens": prompt,
        "completion_tokens": output,
        "prompt_tokens_details": answer.cached.map(|tokens| json!({ "cached_tokens": tokens })),
        "completion_tokens_details": answer.reasoning.map(|tokens| json!({ "reasoning_tokens": tokens })),
    })
}
