//! Runs the engine under a load model in virtual time, without any real waiting.

use std::{collections::BTreeSet, ops::ControlFlow, time::Duration};

use inferometer_model::Nanos;
use inferometer_model::load::{Due, EndedRequest, LeaveAfter, Leavers, LoadModel};

use crate::{Engine, EngineRequest, Finish, RequestId, SteadySteps, Step, front_end::FrontEnd};

/// One request in virtual time; instants are offsets from the start of the pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VirtualRecord {
    /// When the request was due.
    pub due: Nanos,
    /// When the request was sent: at `due`, or later if the number of requests in flight was limited.
    pub sent: Nanos,
    /// When the first token was generated; absent if there was none.
    pub first_token: Option<Nanos>,
    /// When the last token was generated; absent if there was none.
    pub last_token: Option<Nanos>,
    /// When the request ended.
    pub ended: Nanos,
    /// Prompt tokens.
    pub prompt: u32,
    /// Prompt tokens that were found in the prefix cache; absent without such a cache.
    pub cached: Option<u32>,
    /// Generated output tokens.
    pub output: u32,
    /// Why the request ended.
    pub finish: Finish,
    /// Whether the client left before the answer was complete.
    pub left: bool,
}

/// Tokens that were generated for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenArrival {
    /// Index of the request, from 0, in the order of starts.
    pub request: usize,
    /// When the last of these tokens was generated.
    pub at: Nanos,
    /// The number of tokens. They were generated in consecutive decode steps, one per step.
    pub count: u32,
}

/// Where the requests of a simulation come from. An iterator is a feed of requests that do not wait for each other.
pub trait Feed {
    /// The next request that begins a job, or belongs to none; `None` if there are no more.
    fn next(&mut self) -> Option<EngineRequest>;

    /// The call with this place in this job, which may start now.
    fn call(&mut self, _job: u32, _call: u32) -> Option<EngineRequest> {
        None
    }

    /// A call of a job has ended.
    fn ended(&mut self, _ended: EndedRequest) {}
}

impl<I: Iterator<Item: Into<EngineRequest>> + ?Sized> Feed for I {
    fn next(&mut self) -> Option<EngineRequest> {
        Iterator::next(self).map(Into::into)
    }
}

/// Applies a load model to an idle engine until all requests have ended. `source` supplies the requests; when it is
/// exhausted, no further request starts.
///
/// A request reaches the scheduler before a step if its delay in the front end ends before or when this step begins.
/// Records are in the order of starts.
pub fn simulate(
    engine: &mut Engine,
    load: &mut dyn LoadModel,
    source: &mut (impl Feed + ?Sized),
) -> Vec<VirtualRecord> {
    simulate_with(engine, load, source, Clients::default(), |_| ControlFlow::Break(()))
}

/// The clients of a simulation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clients {
    /// The most requests in flight; `None`: no limit. A request that is due while so many are in flight is sent when
    /// one of them ends.
    pub in_flight: Option<u32>,
    /// The most requests that have been sent and have no token yet; `None`: no limit. Others wait, as above.
    pub in_prefill: Option<u32>,
    /// The clients that leave; `None` if all stay.
    pub leavers: Option<Leavers>,
}

/// Like [`simulate`], but passes the tokens to `on_tokens` in the order of their generation, until `on_tokens` returns
/// `Break`.
pub fn simulate_with(
    engine: &mut Engine,
    load: &mut dyn LoadModel,
    source: &mut (impl Feed + ?Sized),
    clients: Clients,
    on_tokens: impl FnMut(TokenArrival) -> ControlFlow<()>,
) -> Vec<VirtualRecord> {
    let mut simulation = Simulation {
        front: FrontEnd::of(engine, 1.0),
        now: Nanos::ZERO,
        records: Vec::new(),
        jobs: 0,
        places: Vec::new(),
        clients,
        leaving: BTreeSet::new(),
        counting: BTreeSet::new(),
        late_aborts: Vec::new(),
        in_flight: 0,
        in_prefill: 0,
        was_full: false,
        on_tokens: Some(on_tokens),
    };
    loop {
        let next_due = simulation.start_due(load, source);
        let next_leave = simulation.leaving.first().map(|first| first.0);
        simulation.front.hand_over(engine, simulation.now);
        let next_due = next_due.into_iter().chain(simulation.front.next()).chain(next_leave).min();
        let limit = next_due.map_or(Duration::MAX, |due| due.since(simulation.now));
        // A client may leave during any step.
        let all_stay = simulation.leaving.is_empty()
            && simulation.counting.is_empty()
            && simulation.late_aborts.is_empty();
        if let Some(steady) = all_stay.then(|| engine.steady_steps(limit)).flatten() {
            simulation.apply_steady(engine, steady);
        } else if let Some(step) = engine.step() {
            simulation.late_aborts.drain(..).for_each(|id| engine.abort(id));
            simulation.apply_step(engine, step, load, source);
        } else if let Some(due) = next_due {
            // An idle engine waits for the next arrival.
            engine.rest(due.since(simulation.now));
            simulation.now = due;
            simulation.leave_before(Nanos(due.0 + 1), engine, load, source);
        } else {
            return simulation.records;
        }
    }
}

/// A simulation in progress. The id of a request is its index among the records.
struct Simulation<OnTokens> {
    front: FrontEnd,
    now: Nanos,
    records: Vec<VirtualRecord>,
    /// The number of jobs that have begun, and for each request its job and its place there.
    jobs: u32,
    places: Vec<(u32, u32)>,
    clients: Clients,
    /// The requests whose clients leave at an instant, and those whose clients leave after some tokens.
    leaving: BTreeSet<(Nanos, RequestId)>,
    counting: BTreeSet<RequestId>,
    /// Requests whose clients left with their last token: the next step has begun when the engine notices it.
    late_aborts: Vec<RequestId>,
    in_flight: u32,
    /// The number of requests in flight that have no token yet.
    in_prefill: u32,
    /// Whether a due request had to wait because a limit was reached.
    was_full: bool,
    /// `None` after the callback has returned `Break`.
    on_tokens: Option<OnTokens>,
}

impl<OnTokens: FnMut(TokenArrival) -> ControlFlow<()>> Simulation<OnTokens> {
    /// Starts the requests that are due. Returns when the next request is due, if that is known.
    fn start_due(
        &mut self,
        load: &mut dyn LoadModel,
        source: &mut (impl Feed + ?Sized),
    ) -> Option<Nanos> {
        loop {
            let due = match load.next_due() {
                Due::At(due) if due > self.now => {
                    self.was_full = false;
                    return Some(due);
                }
                Due::At(due) => due,
                Due::AfterEnd | Due::Never => return None,
            };
            let is_full = self.clients.in_flight.is_some_and(|most| self.in_flight >= most);
            if is_full || self.clients.in_prefill.is_some_and(|most| self.in_prefill >= most) {
                self.was_full = true;
                return None;
            }
            let (request, place) = match load.continues() {
                Some((job, call)) => (source.call(job, call)?, (job, call)),
                None => (source.next()?, (self.jobs, 0)),
            };
            self.jobs += u32::from(place.1 == 0);
            self.places.push(place);
            let prompt = request.lengths.prompt;
            load.take();
            let sent = if self.was_full { due.max(self.now) } else { due };
            let id = RequestId(self.records.len() as u64);
            self.front.take(sent, id, request, self.in_flight);
            self.in_flight += 1;
            self.in_prefill += 1;
            let leavers = self.clients.leavers.filter(|leavers| leavers.includes(id.0 as u32));
            match leavers.map(|leavers| leavers.abandon.after) {
                None => {}
                Some(LeaveAfter::Time(time) | LeaveAfter::NoToken(time)) => {
                    self.leaving.insert((sent + time, id));
                }
                Some(LeaveAfter::Tokens(_)) => {
                    self.counting.insert(id);
                }
            }
            self.records.push(VirtualRecord {
                due,
                sent,
                first_token: None,
                last_token: None,
                ended: due,
                prompt,
                cached: None,
                output: 0,
                // A placeholder until the request ends. Every request ends.
                finish: Finish::Ignored,
                left: false,
            });
        }
    }

    fn apply_steady(&mut self, engine: &Engine, steady: SteadySteps) {
        self.now = self.now + steady.duration;
        for id in engine.running() {
            self.add_tokens(id, steady.steps);
        }
    }

    fn apply_step(
        &mut self,
        engine: &mut Engine,
        step: Step,
        load: &mut dyn LoadModel,
        source: &mut (impl Feed + ?Sized),
    ) {
        self.now = self.now + step.duration;
        // A token at the instant at which the client leaves still arrives.
        self.leave_before(self.now, engine, load, source);
        for output in step.outputs {
            if self.records[output.id.0 as usize].left {
                continue;
            }
            if output.finished != Some(Finish::Ignored) {
                self.add_tokens(output.id, 1);
            }
            if let Some(finish) = output.finished {
                let request = output.id.0 as usize;
                let complete = finish != Finish::Ignored;
                let record = &mut self.records[request];
                record.ended = self.now;
                record.cached = output.cached;
                record.finish = finish;
                self.stay(output.id);
                self.counting.remove(&output.id);
                self.ended(request, complete, load, source);
            } else if self.has_enough(output.id) {
                self.leave(output.id, self.now, load, source);
                self.late_aborts.push(output.id);
            }
        }
        self.leave_before(Nanos(self.now.0 + 1), engine, load, source);
    }

    /// Tells the source and the load that a request has ended.
    fn ended(
        &mut self,
        request: usize,
        complete: bool,
        load: &mut dyn LoadModel,
        source: &mut (impl Feed + ?Sized),
    ) {
        self.in_flight -= 1;
        self.in_prefill -= u32::from(self.records[request].first_token.is_none());
        let (conversation, call) = self.places[request];
        let ended = EndedRequest { conversation, call, complete };
        source.ended(ended);
        load.ended(self.records[request].ended, ended);
    }

    /// Whether a client that leaves after some tokens has received them.
    fn has_enough(&self, id: RequestId) -> bool {
        let after = self.clients.leavers.map(|leavers| leavers.abandon.after);
        matches!(after, Some(LeaveAfter::Tokens(most)) if self.records[id.0 as usize].output >= most)
            && self.counting.contains(&id)
    }

    /// Ends the requests whose clients leave before an instant.
    fn leave_before(
        &mut self,
        before: Nanos,
        engine: &mut Engine,
        load: &mut dyn LoadModel,
        source: &mut (impl Feed + ?Sized),
    ) {
        while let Some((at, id)) = self.leaving.pop_first() {
            if at >= before {
                self.leaving.insert((at, id));
                return;
            }
            self.leave(id, at, load, source);
            engine.abort(id);
        }
    }

    /// The client of a request does not leave at an instant any more.
    fn stay(&mut self, id: RequestId) {
        let after = self.clients.leavers.map(|leavers| leavers.abandon.after);
        if let Some(LeaveAfter::Time(time) | LeaveAfter::NoToken(time)) = after {
            self.leaving.remove(&(self.records[id.0 as usize].sent + time, id));
        }
    }

    fn leave(
        &mut self,
        id: RequestId,
        at: Nanos,
        load: &mut dyn LoadModel,
        source: &mut (impl Feed + ?Sized),
    ) {
        self.counting.remove(&id);
        self.front.abort(id);
        let request = id.0 as usize;
        (self.records[request].ended, self.records[request].left) = (at, true);
        self.ended(request, false, load, source);
    }

    fn add_tokens(&mut self, id: RequestId, count: u32) {
        let request = id.0 as usize;
        let record = &mut self.records[request];
        let is_first = record.first_token.is_none();
        self.in_prefill -= u32::from(is_first);
        record.first_token.get_or_insert(self.now);
        record.last_token = Some(self.now);
        record.output += count;
        let leavers = self.clients.leavers.map(|leavers| leavers.abandon.after);
        if is_first && matches!(leavers, Some(LeaveAfter::NoToken(_))) {
            self.stay(id);
        }
        if let Some(on_tokens) = &mut self.on_tokens
            && on_tokens(TokenArrival { request, at: self.now, count }).is_break()
        {
            self.on_tokens = None;
        }
    }
}
