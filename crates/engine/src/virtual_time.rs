//! Runs the engine under a load model in virtual time, without any real waiting.

use std::{ops::ControlFlow, time::Duration};

use inferometer_model::Nanos;
use inferometer_model::load::{Due, EndedRequest, LoadModel};

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
    simulate_with(engine, load, source, None, |_| ControlFlow::Break(()))
}

/// Like [`simulate`], but passes the tokens to `on_tokens` in the order of their generation, until `on_tokens` returns
/// `Break`. A request that is due while `max_in_flight` requests are in flight is sent when one of them ends.
pub fn simulate_with(
    engine: &mut Engine,
    load: &mut dyn LoadModel,
    source: &mut (impl Feed + ?Sized),
    max_in_flight: Option<u32>,
    on_tokens: impl FnMut(TokenArrival) -> ControlFlow<()>,
) -> Vec<VirtualRecord> {
    let mut simulation = Simulation {
        front: FrontEnd::of(engine, 1.0),
        now: Nanos::ZERO,
        records: Vec::new(),
        jobs: 0,
        places: Vec::new(),
        max_in_flight: max_in_flight.unwrap_or(u32::MAX),
        in_flight: 0,
        was_full: false,
        on_tokens: Some(on_tokens),
    };
    loop {
        let next_due = simulation.start_due(load, source);
        simulation.front.hand_over(engine, simulation.now);
        let next_due = next_due.into_iter().chain(simulation.front.next()).min();
        let limit = next_due.map_or(Duration::MAX, |due| due.since(simulation.now));
        if let Some(steady) = engine.steady_steps(limit) {
            simulation.apply_steady(engine, steady);
        } else if let Some(step) = engine.step() {
            simulation.apply_step(step, load, source);
        } else if let Some(due) = next_due {
            // An idle engine waits for the next arrival.
            engine.rest(due.since(simulation.now));
            simulation.now = due;
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
    max_in_flight: u32,
    in_flight: u32,
    /// Whether a due request had to wait because `max_in_flight` requests were in flight.
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
            if self.in_flight >= self.max_in_flight {
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
        step: Step,
        load: &mut dyn LoadModel,
        source: &mut (impl Feed + ?Sized),
    ) {
        self.now = self.now + step.duration;
        for output in step.outputs {
            if output.finished != Some(Finish::Ignored) {
                self.add_tokens(output.id, 1);
            }
            if let Some(finish) = output.finished {
                let request = output.id.0 as usize;
                let complete = finish != Finish::Ignored;
                let record = &mut self.records[request];
                record.ended = self.now;
                (record.output, record.cached) = (output.tokens_so_far, output.cached);
                record.finish = finish;
                self.in_flight -= 1;
                let (conversation, call) = self.places[request];
                let ended = EndedRequest { conversation, call, complete };
                source.ended(ended);
                load.ended(self.now, ended);
            }
        }
    }

    fn add_tokens(&mut self, id: RequestId, count: u32) {
        let request = id.0 as usize;
        let record = &mut self.records[request];
        record.first_token.get_or_insert(self.now);
        record.last_token = Some(self.now);
        if let Some(on_tokens) = &mut self.on_tokens
            && on_tokens(TokenArrival { request, at: self.now, count }).is_break()
        {
            self.on_tokens = None;
        }
    }
}
