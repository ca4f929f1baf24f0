//! Finds what follows from all calls of a trace together: the size of a block, parents, jobs, gaps, tool times, and how
//! much of a prompt is kept. What a row states is never replaced, but a gap is measured again if it ends a fan-out.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::builder::{Builder, Starter};
use super::call::{Call, Content, GapKind, Known, Trace};
use super::error::{JobsError, Problem};
use super::tree::{ROOT, Tree};
use super::values::MS;
use crate::trace::block_size;

/// How many earlier calls of a session may be the one before a call. More do not run side by side.
const MOST_AT_ONCE: usize = 256;

impl Builder {
    /// The finished trace.
    ///
    /// # Errors
    /// If its calls contradict each other, or there is none.
    pub fn finish(mut self) -> Result<Trace, JobsError> {
        if self.trace.calls.is_empty() {
            let file =
                self.trace.files.first().map_or(String::new(), |file| file.display().to_string());
            return Err(JobsError::Empty(file, self.trace.left_out.to_string()));
        }
        self.settle_blocks()?;
        self.resolve_parents()?;
        let sessions = self.chain_sessions();
        self.attach_sub_agents(&sessions);
        self.trace.order = self.trace.parents_first()?;
        self.name_jobs();
        self.fill_gaps();
        self.fill_tools(&sessions);
        for at in 0..self.trace.calls.len() {
            let call = &self.trace.calls[at];
            let (keeps, kind) = (call.keeps.or(keeps(&self.trace, call)), self.gap_kind(call));
            (self.trace.calls[at].keeps, self.trace.calls[at].gap_kind) = (keeps, kind);
        }
        Ok(self.trace)
    }

    /// Finds the size of a block if no row states it, and checks that each id has one size.
    fn settle_blocks(&mut self) -> Result<(), JobsError> {
        let Trace { calls, blocks, block_tokens, .. } = &mut self.trace;
        let lengths = |call: &Call| match (call.prompt.get(), call.content.get()) {
            (Some(prompt), Some(Content::Blocks(node))) => Some((prompt, blocks.depth(node), node)),
            _ => None,
        };
        let hashed = calls
            .iter()
            .filter_map(lengths)
            .map(|(prompt, ids, _)| (prompt, ids))
            .collect::<Vec<_>>();
        if hashed.is_empty() {
            return Ok(());
        }
        *block_tokens = block_tokens.or(Known::Inferred(block_size::best(&hashed, 512)));
        let block = block_tokens.get().unwrap_or(1).max(1);
        let (mut unfit, mut sizes, mut problem) = (0, HashMap::new(), None);
        for (at, call) in calls.iter_mut().enumerate() {
            let Some((prompt, ids, node)) = lengths(call) else { continue };
            if !block_size::fits(block, (prompt, ids)) {
                unfit += 1;
                call.content = Known::Absent;
                problem = problem.or(Some((at, Problem::Blocks(ids, prompt, block))));
                continue;
            }
            let tokens = block.min(prompt - (ids - 1) * block);
            let other = *sizes.entry(node).or_insert(tokens);
            let other = if blocks.goes_on(node) { block } else { other };
            if other != tokens {
                let problem = Problem::TwoSizes(call.id.clone(), tokens, other);
                return Err(self.trace.refused(self.trace.calls[at].place(), problem));
            }
        }
        let Some((at, problem)) = problem else { return Ok(()) };
        if unfit * 2 >= hashed.len() {
            return Err(self.trace.refused(self.trace.calls[at].place(), problem));
        }
        self.note(&format!(
            "{unfit} calls: the number of block ids does not fit the length; their ids are not used"
        ));
        Ok(())
    }

    /// Finds the parents that rows list by id.
    fn resolve_parents(&mut self) -> Result<(), JobsError> {
        for (at, parent) in std::mem::take(&mut self.waits) {
            let found = self.call(&parent);
            let call = &mut self.trace.calls[at as usize];
            let Some(found) = found else {
                let problem = Problem::NoParent(call.id.clone(), parent);
                return Err(self.trace.refused(self.trace.calls[at as usize].place(), problem));
            };
            call.order = Known::Recorded(());
            if !call.parents.contains(&found) {
                call.parents.push(found);
            }
        }
        Ok(())
    }

    /// Gives calls of a session their parent in it, unless the file says their order. Returns the calls of each session
    /// in the order of time.
    fn chain_sessions(&mut self) -> BTreeMap<u32, Vec<u32>> {
        let mut sessions: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (at, call) in self.trace.calls.iter().enumerate() {
            sessions.entry(call.session).or_default().push(at as u32);
        }
        let Trace { calls, blocks, names, .. } = &mut self.trace;
        for (session, members) in &mut sessions {
            type Time = fn(&Call) -> Option<i64>;
            let times: [Time; 2] = [|call| call.start_ns.get(), |call| call.end_ns.get()];
            let is_known =
                |time: &&Time| members.iter().all(|at| time(&calls[*at as usize]).is_some());
            if let Some(time) = times.iter().find(is_known) {
                members.sort_by_key(|at| time(&calls[*at as usize]));
            }
            let is_alone = members.len() == 1 && !self.started.contains_key(session);
            if is_alone && names[*session as usize] == calls[members[0] as usize].id {
                continue;
            }
            for (place, &at) in members.iter().enumerate() {
                if calls[at as usize].order == Known::Absent {
                    let found = before(calls, blocks, &members[..place], at, self.rounding_ns);
                    calls[at as usize].parents = found.into_iter().collect();
                    calls[at as usize].order = Known::Inferred(());
                }
            }
        }
        sessions
    }

    /// Hangs each sub-agent on the last call of its parent session that ended before it. The next call of that session
    /// waits for the sub-agent, if it started after its end.
    fn attach_sub_agents(&mut self, sessions: &BTreeMap<u32, Vec<u32>>) {
        let (calls, rounding) = (&mut self.trace.calls, self.rounding_ns);
        for (child, Starter { session, in_background }) in &self.started {
            let (Some(own), Some(parents)) = (sessions.get(child), sessions.get(session)) else {
                continue;
            };
            let call = |at: &u32| &calls[*at as usize];
            let end = |at: &u32| call(at).end_ns.or(call(at).start_ns).get();
            let start = |at: &u32| call(at).start_ns.or(call(at).end_ns).get();
            let (Some(begin), Some(last)) = (start(&own[0]), own.iter().filter_map(end).max())
            else {
                continue;
            };
            let ended = |at: &u32| end(at).is_some_and(|end| end <= begin.saturating_add(rounding));
            let Some(place) = parents.iter().rposition(ended) else { continue };
            let has_ended =
                |at: &&u32| start(at).is_some_and(|start| start.saturating_add(rounding) >= last);
            let next = parents.get(place + 1).filter(|_| !in_background).filter(has_ended);
            let awaited: HashSet<u32> =
                own.iter().flat_map(|at| call(at).parents.clone()).collect();
            for &at in own.iter() {
                if calls[at as usize].parents.is_empty() {
                    calls[at as usize].parents.push(parents[place]);
                }
                if let Some(&next) = next.filter(|_| !awaited.contains(&at)) {
                    calls[next as usize].parents.push(at);
                }
            }
        }
    }

    /// Names the job of each call: that of its first parent, else that of its session or of the session that started it.
    fn name_jobs(&mut self) {
        let mut jobs: HashMap<u32, u32> = HashMap::new();
        for &at in &self.trace.order {
            let Call { session, ref parents, .. } = self.trace.calls[at as usize];
            let starter = || jobs.get(&self.started.get(&session)?.session).copied();
            let of_parent = parents.first().map(|parent| self.trace.calls[*parent as usize].job);
            let job = of_parent.or(jobs.get(&session).copied()).or_else(starter).unwrap_or(session);
            self.trace.calls[at as usize].job = job;
            jobs.entry(session).or_insert(job);
        }
    }

    /// Fills gaps from times, and starts from gaps. A gap that a row states counts if it was measured from the parents.
    fn fill_gaps(&mut self) {
        // Durations of exact times may still be rounded to 10 ms.
        let rounding = self.rounding_ns.saturating_add(10 * MS).unsigned_abs();
        for at in self.trace.order.clone() {
            let end = self.trace.parents_end(&self.trace.calls[at as usize]);
            let session = self.trace.previous(&self.trace.calls[at as usize]).is_some();
            let call = &mut self.trace.calls[at as usize];
            if call.parents.is_empty() {
                (call.gap_ns, call.tool_ns) = (Known::Absent, Known::Absent);
            } else if let (Some(start), Some(end)) = (call.start_ns.get(), end) {
                let measured = start.saturating_sub(end).max(0);
                let stated = call.gap_ns.get().filter(|_| session && call.parents.len() == 1);
                if stated.is_none_or(|gap| gap.abs_diff(measured) > rounding) {
                    call.gap_ns = Known::Inferred(measured);
                }
            } else if let (Some(gap), Some(end)) = (call.gap_ns.get(), end) {
                call.start_ns = Known::inferred(end.checked_add(gap));
            }
        }
    }

    /// Fills tool times: the time within a gap in which at least one tool of the session ran. A tool that encloses all
    /// calls of a sub-agent of the session is that sub-agent.
    fn fill_tools(&mut self, sessions: &BTreeMap<u32, Vec<u32>>) {
        let call = |at: &u32| &self.trace.calls[*at as usize];
        let mut agents: BTreeMap<u32, Vec<(i64, i64)>> = BTreeMap::new();
        for (child, starter) in &self.started {
            let calls = sessions.get(child).map_or(&[][..], Vec::as_slice);
            let begin =
                calls.iter().filter_map(|at| call(at).start_ns.or(call(at).end_ns).get()).min();
            let end = calls.iter().filter_map(|at| call(at).end_ns.get()).max();
            agents.entry(starter.session).or_default().extend(begin.zip(end));
        }
        agents.values_mut().for_each(|agents| agents.sort_unstable());
        // Each span has the last end up to it as well, so that those that ended before a gap are found at once.
        let mut tools: BTreeMap<u32, Vec<(i64, i64, i64)>> = BTreeMap::new();
        self.tools.sort_unstable();
        for (session, from, to) in std::mem::take(&mut self.tools) {
            let agents = agents.get(&session).map_or(&[][..], Vec::as_slice);
            let after = &agents[agents.partition_point(|agent| agent.0 < from)..];
            if !after.iter().take_while(|agent| agent.0 <= to).any(|agent| agent.1 <= to) {
                let spans = tools.entry(session).or_default();
                let last = spans.last().map_or(to, |span| span.2.max(to));
                spans.push((from, to, last));
            }
        }
        for at in 0..self.trace.calls.len() {
            let call = &self.trace.calls[at];
            let window = self.trace.parents_end(call).zip(call.start_ns.or(call.end_ns).get());
            let Some((from, to)) = window else { continue };
            let spans = tools.get(&call.session).map_or(&[][..], Vec::as_slice);
            // Spans are sorted by their start, and tools of a gap start before its end.
            let until = spans.partition_point(|span| span.0 < to);
            let since = spans.partition_point(|span| span.2 <= from).min(until);
            let tool_ns = union(spans[since..until].iter().map(|span| (span.0, span.1)), from, to);
            self.trace.calls[at].tool_ns =
                call.tool_ns.or(Known::inferred(self.has_tools.then_some(tool_ns)));
        }
    }

    fn gap_kind(&self, call: &Call) -> GapKind {
        let other = |parent: &u32| self.trace.calls[*parent as usize].session != call.session;
        match call.tool_ns.get() {
            _ if call.parents.is_empty() => GapKind::Unknown,
            _ if call.parents.iter().any(other) => GapKind::Agent,
            Some(1..) if call.gap_kind == GapKind::Unknown => GapKind::Tool,
            _ => call.gap_kind,
        }
    }
}

/// The call before another one in its session: of those that ended before it started, the one with the longest common
/// beginning of the prompts, and of these the one that ended last. If ends are not known, the one before it. None if all
/// others were still running.
fn before(calls: &[Call], blocks: &Tree, earlier: &[u32], at: u32, rounding: i64) -> Option<u32> {
    let node = |at: u32| match calls[at as usize].content.get() {
        Some(Content::Blocks(node)) => node,
        _ => ROOT,
    };
    let near = &earlier[earlier.len().saturating_sub(MOST_AT_ONCE)..];
    let ends = near.iter().map(|at| Some((calls[*at as usize].end_ns.get()?, *at)));
    let ends: Option<Vec<(i64, u32)>> = ends.collect();
    let Some((start, mut ends)) = calls[at as usize].start_ns.get().zip(ends) else {
        return earlier.last().copied();
    };
    ends.retain(|(end, _)| *end <= start.saturating_add(rounding));
    ends.sort_unstable_by(|one, other| other.cmp(one));
    let (mut most, mut found) = (0, ends.first()?.1);
    for (_, other) in ends {
        // A prompt that is no longer than the common beginning so far cannot have a longer one.
        if blocks.depth(node(other)) > most {
            let shared = blocks.shared(node(at), node(other));
            (most, found) = if shared > most { (shared, other) } else { (most, found) };
        }
    }
    Some(found)
}

/// How much of the previous prompt and answer a prompt keeps. If it begins with the whole previous prompt and has room
/// for the answer, it has the answer as well: that is what a history is.
fn keeps(trace: &Trace, call: &Call) -> Known<u32> {
    let known = || {
        let before = trace.previous(call)?;
        let (prompt, of_before) = (call.prompt.get()?, before.prompt.get()?);
        let (shared, is_whole) = match (call.content.get()?, before.content.get()?) {
            (Content::Blocks(own), Content::Blocks(earlier)) => {
                let block = trace.block_tokens.get()?;
                let shared = trace.blocks.shared(own, earlier).saturating_mul(block);
                (shared.min(prompt).min(of_before), shared >= of_before / block * block)
            }
            (Content::Messages(node), Content::Messages(earlier)) => {
                let shared = trace.messages.shared(node, earlier);
                // Equal messages with another length are not the prompt: the writer of the log removed them.
                let is_prompt = node != earlier || prompt == of_before;
                (is_prompt && shared == trace.messages.depth(earlier))
                    .then_some((of_before, true))?
            }
            _ => return None,
        };
        let with_answer = of_before.saturating_add(before.output.get().unwrap_or(0));
        Some(if is_whole && prompt >= with_answer { with_answer } else { shared })
    };
    Known::inferred(known())
}

/// The length of the union of spans within a window. The spans are sorted by their start.
pub fn union(spans: impl Iterator<Item = (i64, i64)>, from: i64, to: i64) -> i64 {
    let (mut sum, mut done) = (0, from);
    for (begin, end) in spans {
        let (begin, end) = (begin.max(done), end.min(to));
        if end > begin {
            sum = end.saturating_sub(begin).saturating_add(sum);
            done = end;
        }
    }
    sum
}

impl Trace {
    /// The error for a call or a row at this place.
    pub fn refused(&self, (file, line): (u32, u64), problem: Problem) -> JobsError {
        JobsError::Row { path: self.files[file as usize].clone(), line, problem }
    }

    /// The last end of a call's parents; None if it has none or an end is not known.
    pub fn parents_end(&self, call: &Call) -> Option<i64> {
        let ends = call.parents.iter().map(|parent| self.calls[*parent as usize].end_ns.get());
        ends.collect::<Option<Vec<i64>>>()?.into_iter().max()
    }

    /// The calls in an order in which each follows its parents, otherwise as in the files.
    fn parents_first(&self) -> Result<Vec<u32>, JobsError> {
        let mut waits: Vec<u32> = self.calls.iter().map(|call| call.parents.len() as u32).collect();
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); self.calls.len()];
        for (at, call) in self.calls.iter().enumerate() {
            call.parents.iter().for_each(|parent| children[*parent as usize].push(at as u32));
        }
        let ready = |at: &u32| waits[*at as usize] == 0;
        let mut order: Vec<u32> = (0..self.calls.len() as u32).filter(ready).collect();
        let mut next = 0;
        while let Some(&at) = order.get(next) {
            next += 1;
            for &child in &children[at as usize] {
                waits[child as usize] -= 1;
                if waits[child as usize] == 0 {
                    order.push(child);
                }
            }
        }
        match waits.iter().position(|waits| *waits > 0) {
            None => Ok(order),
            // A call that is not ready has a parent that is not ready, so this path ends in a cycle.
            Some(mut at) => {
                for _ in 0..self.calls.len() {
                    let next =
                        self.calls[at].parents.iter().find(|parent| waits[**parent as usize] > 0);
                    at = next.map_or(at, |parent| *parent as usize);
                }
                Err(self.refused(self.calls[at].place(), Problem::Cycle(self.calls[at].id.clone())))
            }
        }
    }
}
