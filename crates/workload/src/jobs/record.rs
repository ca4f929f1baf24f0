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
/// The longest time for which a call may be taken to wait for its tools, in nanoseconds: ten minutes.
const LONGEST_TOOL_NS: i64 = 600 * S;
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
    /// The call that it says it goes on from.
    named: Option<usize>,
    /// Its text, if it is one text.
    prompt: Option<Vec<u8>>,
    job: Option<String>,
    kind: GapKind,
    body: Value,
}

/// The place of a call in its job.
struct Place {
    session: u32,
    parents: Vec<usize>,
    by_time: bool,
}

/// A call that has a row.
struct Ended {
    id: String,
    session: u32,
    job: Option<String>,
    end_ns: i64,
    calls_tools: bool,
    /// When its session went on.
    went_on_ns: Option<i64>,
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
    of_session: HashMap<u32, Vec<usize>>,
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

    /// Begins a call with this body. `session`: what the client's header names it. Returns whether it has a prompt.
    pub fn begin(&mut self, key: u64, begin_ns: i64, session: Option<&str>, body: Value) -> bool {
        let mut row = Value::Object(Map::from_iter([("body".to_owned(), body)]));
        let Some((parts, last)) = prompt_parts(&row) else { return false };
        let body = row["body"].take();
        let named = body["previous_response_id"].as_str().and_then(|id| self.by_answer.get(id));
        let (named, from) = match named {
            Some((at, node)) => (Some(*at), *node),
            None => (None, self.of_model(body["model"].as_str().unwrap_or_default())),
        };
        let prompt = body["prompt"].as_str().map(str::as_bytes);
        let tail = prompt.map_or(0, |text| text.len() % PIECE);
        let (mut node, mut whole) = (from, from);
        for piece in parts.iter().flat_map(|part| part.as_bytes().chunks(PIECE)) {
            node = self.piece(node, piece);
            whole = if tail > 0 && piece.len() < PIECE { whole } else { node };
        }
        let tail = prompt.map_or_else(Vec::new, |text| text[text.len() - tail..].to_vec());
        let prompt = prompt.map(<[u8]>::to_vec);
        let job = session.map(str::to_owned).or_else(|| text(&body, JOB));
        self.origin_ns.get_or_insert(begin_ns);
        let kind = kind_of(Some(&last));
        let body = if self.with_texts { body } else { Value::Null };
        let whole = (whole, tail);
        self.open.insert(key, Open { begin_ns, node, whole, named, prompt, job, kind, body });
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
        let place = self.place(&call);
        let mut row = self.row(&call, &id, answer.end_ns, &place);
        let Open { node, whole, job, body, .. } = call;
        let Place { session, by_time, .. } = place;
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
        self.of_session.entry(session).or_default().push(at);
        self.ended.push(Ended {
            id,
            session,
            job,
            end_ns: answer.end_ns,
            calls_tools: answer.calls_tools,
            went_on_ns: None,
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

    /// The node below which the prompts of a model are: its cache knows only these.
    fn of_model(&mut self, model: &str) -> u32 {
        let node = self.prompts.child(ROOT, hash(("model", model)));
        let node = node.expect("invariant: pieces are not chained");
        if node as usize == self.nodes.len() {
            self.nodes.push((0, Some(0)));
        }
        node
    }

    /// Finds where a call that has ended belongs, from what had ended when it began. Answers may be seen a little later
    /// than the requests that follow them, so this is not decided before its end.
    fn place(&mut self, call: &Open) -> Place {
        if let Some(before) = call.named.or_else(|| self.begun_by(call)) {
            self.ended[before].went_on_ns.get_or_insert(call.begin_ns);
            let parents = self.joined(before, call.begin_ns);
            return Place { session: self.ended[before].session, parents, by_time: false };
        }
        self.sessions += 1;
        let starter = self.starter(call);
        if let Some(starter) = starter {
            self.ended[starter].started.push(self.sessions);
        }
        let by_time = starter.is_some();
        Place { session: self.sessions, parents: starter.into_iter().collect(), by_time }
    }

    /// The call of the same task whose whole prompt is the longest beginning of this one; of several, one that no call
    /// has gone on from yet.
    fn begun_by(&self, call: &Open) -> Option<usize> {
        let text = call.prompt.as_deref();
        let above = |node: &u32| (*node != ROOT).then(|| self.prompts.parent(*node));
        let mut nodes =
            std::iter::successors(Some(call.node), above).skip(usize::from(text.is_none()));
        nodes.find_map(|node| {
            // The first node is that of the model.
            let pieces = self.prompts.depth(node).saturating_sub(1) as usize;
            let rest = text.and_then(|text| text.get(pieces * PIECE..)).unwrap_or_default();
            let is_begin = |(at, tail): &&(usize, Vec<u8>)| {
                let goes_on = match text {
                    Some(_) => rest.starts_with(tail) && rest.len() > tail.len(),
                    None => tail.is_empty(),
                };
                goes_on && self.ended[*at].job == call.job
            };
            let mut calls = self.by_prompt.get(&node)?.iter().filter(is_begin);
            let is_free = |(at, _): &&(usize, Vec<u8>)| self.ended[*at].went_on_ns.is_none();
            let free = calls.clone().find(is_free);
            free.or_else(|| calls.next_back()).map(|(at, _)| *at)
        })
    }

    /// A call and the last ones, at this instant, of the sessions that its tools started: the next call of its session
    /// waits for all.
    fn joined(&self, before: usize, begin_ns: i64) -> Vec<usize> {
        let has_ended = |at: &&usize| self.ended[**at].end_ns <= begin_ns;
        let last = |session| self.of_session.get(session)?.iter().rfind(has_ended).copied();
        let started = self.ended[before].started.iter().filter_map(last);
        std::iter::once(before).chain(started).collect()
    }

    /// The call whose tools started a session with this call: the only one of its task whose tools ran when it began.
    fn starter(&self, call: &Open) -> Option<usize> {
        let begin = call.begin_ns;
        let before =
            |it: &Open| it.named.or_else(|| self.begun_by(it)).filter(|_| it.begin_ns <= begin);
        let gone_on: Vec<usize> = self.open.values().filter_map(before).collect();
        let runs_tools = |at: &usize| {
            let it = &self.ended[*at];
            let is_recent = it.end_ns <= begin && begin - it.end_ns < LONGEST_TOOL_NS;
            let has_gone_on = it.went_on_ns.is_some_and(|at| at <= begin) || gone_on.contains(at);
            it.calls_tools && it.job == call.job && is_recent && !has_gone_on
        };
        let mut running = (0..self.ended.len()).rev().filter(runs_tools);
        running.next().filter(|_| running.next().is_none())
    }

    /// The keys that both kinds of rows have. Times of rows with blocks are in milliseconds, otherwise in seconds.
    fn row(&self, call: &Open, id: &str, end_ns: i64, place: &Place) -> Map<String, Value> {
        let Place { session, parents, by_time } = place;
        let after = parents.iter().map(|at| self.ended[*at].end_ns).max();
        let begin = call.begin_ns - self.origin_ns.unwrap_or(call.begin_ns);
        let waits: Vec<&str> = parents.iter().map(|at| self.ended[*at].id.as_str()).collect();
        let mut row = json!({
            "request_id": id, "session_id": format!("session-{session}"), "wait_for": waits,
        });
        if self.with_texts {
            row["startTime"] = json!(begin as f64 / S as f64);
            row["endTime"] = json!((begin + end_ns - call.begin_ns) as f64 / S as f64);
        } else {
            let ms = |ns: i64| json!(ns.max(0) as f64 / MS as f64);
            match after {
                None => row["timestamp"] = ms(begin),
                Some(end) if call.kind == GapKind::Tool && parents.len() == 1 && !by_time => {
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
