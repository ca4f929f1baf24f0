//! Runs the engine in virtual time: it applies a load model without any real waiting.

use std::ops::ControlFlow;
use std::time::Duration;

use inferometer_load::{Due, EndedRequest, LoadModel};
use inferometer_model::time::Nanos;

use crate::engine::Engine;
use crate::front_end::FrontEnd;
use crate::request::{EngineRequest, Finish, RequestId};
use crate::step::{SteadySteps, Step};

/// One request in virtual time; instants are offsets from the start of the pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VirtualRecord {
    /// When it should start.
    pub due: Nanos,
    /// When it was sent: when due, or later where the number in flight was limited.
    pub sent: Nanos,
    /// When its first token came; absent where none came.
    pub first_token: Option<Nanos>,
    /// When its last token came; absent where none came.
    pub last_token: Option<Nanos>,
    /// When it ended.
    pub ended: Nanos,
    /// Prompt tokens.
    pub prompt: u32,
    /// Output tokens that came.
    pub output: u32,
    /// Why it ended.
    pub finish: Finish,
}

/// Tokens that a request got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenArrival {
    /// Index of the request, from 0, in the order of starts.
    pub request: usize,
    /// When the last of them came.
    pub at: Nanos,
    /// How many. They came one per step, in steps that grew only by the cost of a token of context.
    pub count: u32,
}

/// Applies a load model to an idle engine until neither has anything left. `source` gives the
/// requests; when it is exhausted, no further request starts.
///
/// A request that is due before a step begins takes part in it. Records are in the order of starts.
pub fn simulate<R: Into<EngineRequest>>(
    engine: &mut Engine,
    load: &mut dyn LoadModel,
    source: &mut dyn Iterator<Item = R>,
) -> Vec<VirtualRecord> {
    simulate_with(engine, load, source, None, |_| ControlFlow::Break(()))
}

/// [`simulate`], with every token passed to `on_tokens` as it comes, until `on_tokens` returns `Break`. A
/// request that is due while `max_in_flight` are in flight is sent when one of these ends.
pub fn simulate_with<R: Into<EngineRequest>>(
    engine: &mut Engine,
    load: &mut dyn LoadModel,
    source: &mut dyn Iterator<Item = R>,
    max_in_flight: Option<u32>,
    on_tokens: impl FnMut(TokenArrival) -> ControlFlow<()>,
) -> Vec<VirtualRecord> {
    let mut simulation = Simulation {
        front: FrontEnd::of(engine, 1.0),
        now: Nanos::ZERO,
        records: Vec::new(),
        free_slots: max_in_flight.unwrap_or(u32::MAX),
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
            simulation.apply_step(step, load);
        } else if let Some(due) = next_due {
            // An idle engine waits for the next arrival.
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
    /// How many more requests may be in flight.
    free_slots: u32,
    /// Whether a request that was due had to wait for a slot.
    was_full: bool,
    /// Absent when it takes no further tokens.
    on_tokens: Option<OnTokens>,
}

impl<OnTokens: FnMut(TokenArrival) -> ControlFlow<()>> Simulation<OnTokens> {
    /// Starts the requests that are due. Returns when the next one is due, if that is known.
    fn start_due<R: Into<EngineRequest>>(
        &mut self,
        load: &mut dyn LoadModel,
        source: &mut dyn Iterator<Item = R>,
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
            if self.free_slots == 0 {
                self.was_full = true;
                return None;
            }
            let request = source.next()?.into();
            let prompt = request.lengths.prompt;
            load.take();
            self.free_slots -= 1;
            let sent = if self.was_full { due.max(self.now) } else { due };
            let id = RequestId(self.records.len() as u64);
            self.front.take(sent, id, request);
            self.records.push(VirtualRecord {
                due,
                sent,
                first_token: None,
                last_token: None,
                ended: due,
                prompt,
                output: 0,
                // Replaced at its end, which every request has.
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

    fn apply_step(&mut self, step: Step, load: &mut dyn LoadModel) {
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
                record.output = output.tokens_so_far;
                record.finish = finish;
                self.free_slots += 1;
                load.ended(self.now, EndedRequest { conversation: request as u32, complete });
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
