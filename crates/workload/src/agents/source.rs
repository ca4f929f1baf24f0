//! The calls of jobs during a pass. If prompts do not depend on answers, a call is made while those that it waits for
//! are in flight.

use std::sync::Arc;

use inferometer_model::load::{Progress, Step};
use inferometer_model::source::{Follows, Said, Supply};
use inferometer_model::{Nanos, Record, Request, Source};

use super::ahead::Ahead;
use super::player::{Memory, Player};

/// The jobs of a pass that one process plays.
pub struct Jobs {
    player: Arc<Player>,
    ahead: Option<Ahead>,
    /// The numbers of the jobs in the pass.
    numbers: Vec<u32>,
    /// The jobs that have begun; `None` once they are over.
    begun: Vec<Option<Job>>,
    /// What the requests that are never sent have in their records, the last one first.
    unsent: Option<Vec<Request>>,
}

struct Job {
    progress: Progress,
    steps: Arc<[Step]>,
    is_made: Box<[bool]>,
    memory: Memory,
}

impl Jobs {
    /// The jobs with these numbers in the pass.
    pub fn new(player: Player, numbers: Vec<u32>) -> Self {
        let player = Arc::new(player);
        let ahead = Ahead::start(&player);
        Self { player, ahead, numbers, begun: Vec::new(), unsent: None }
    }

    /// Asks for the calls that wait only for calls that are made, and for this one.
    fn ask_for_those_after(&self, job: u32, call: u32) {
        let (Some(ahead), Some(state)) = (&self.ahead, &self.begun[job as usize]) else { return };
        for (next, step) in (0..).zip(state.steps.iter()).skip(call as usize + 1) {
            let is_made = |before: &u32| state.is_made[*before as usize];
            if step.after.contains(&call) && step.after.iter().all(is_made) {
                ahead.ask(self.numbers[job as usize], next);
            }
        }
    }

    /// The request of a call; `None` if it could not be made, which ends the pass.
    fn request(&mut self, job: u32, call: u32) -> Option<Request> {
        let number = self.numbers[job as usize];
        let state = self.begun[job as usize].as_mut().expect("invariant: the job is not over");
        let made = match self.ahead.as_ref().and_then(|ahead| ahead.take(number, call)) {
            Some(made) => Ok(made),
            None => self.player.request(number, call, &mut state.memory),
        };
        state.is_made[call as usize] = made.is_ok();
        if call > 0 {
            self.ask_for_those_after(job, call);
        }
        made.inspect_err(|error| self.player.fail(error)).ok()
    }
}

impl Source for Jobs {
    fn next(&mut self) -> Supply {
        let Some(&number) = self.numbers.get(self.begun.len()) else { return Supply::Exhausted };
        let steps = self.player.steps(number);
        let (progress, _) = Progress::begin(&steps, Nanos::ZERO);
        let (is_made, memory) = (vec![false; steps.len()].into(), Memory::default());
        self.begun.push(Some(Job { progress, steps, is_made, memory }));
        let request = self.request(self.begun.len() as u32 - 1, 0);
        request.map_or(Supply::Exhausted, |request| Supply::Request(Box::new(request)))
    }

    fn begun(&mut self, job: u32) -> Vec<(u32, Request)> {
        let state = self.begun[job as usize].as_ref().expect("invariant: the job is not over");
        let roots = (0..).zip(state.steps.iter()).skip(1);
        let roots: Vec<u32> =
            roots.filter(|(_, step)| step.after.is_empty()).map(|(call, _)| call).collect();
        self.ask_for_those_after(job, 0);
        roots.into_iter().filter_map(|call| Some((call, self.request(job, call)?))).collect()
    }

    fn ended(&mut self, (job, call): (u32, u32), record: &Record, said: Said<'_>) -> Follows {
        let number = self.numbers[job as usize];
        let state = self.begun[job as usize].as_mut().expect("invariant: the job is not over");
        if self.unsent.is_some() {
            // The pass has ended, and every call that was not made is among those.
            return Follows::default();
        }
        let is_complete = record.outcome.is_complete();
        let freed = state.progress.ended(&state.steps, call, Nanos::ZERO, is_complete);
        self.player.hear(call, said, &mut state.memory);
        let skipped = freed.skipped.iter().map(|&call| {
            state.is_made[call as usize] = true;
            self.player.planned(number, call)
        });
        let skipped = skipped.collect();
        let ready = freed.ready.into_iter();
        let requests =
            ready.filter_map(|(call, _)| Some((call, self.request(job, call)?))).collect();
        let state = &mut self.begun[job as usize];
        if state.as_ref().is_some_and(|state| state.progress.is_over()) {
            *state = None;
            self.ahead.iter().for_each(|ahead| ahead.over(number));
        }
        Follows { requests, skipped }
    }

    fn unsent(&mut self) -> Option<Request> {
        let Self { player, numbers, begun, unsent, .. } = self;
        let all = unsent.get_or_insert_with(|| {
            let mut all = Vec::new();
            for (at, &number) in numbers.iter().enumerate() {
                let state = begun.get(at);
                let made = |call: usize| match state {
                    Some(Some(job)) => job.is_made[call],
                    Some(None) => true,
                    None => false,
                };
                let calls = (0..player.steps(number).len()).filter(|call| !made(*call));
                all.extend(calls.map(|call| player.planned(number, call as u32)));
            }
            all.reverse();
            all
        });
        all.pop()
    }
}
