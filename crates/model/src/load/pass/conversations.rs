//! The load model of conversations. Another load model decides when the first turn of each conversation
//! is due. Each later turn is due one think time after the end of the previous answer. With
//! `CountOf::Requests`, a place must also be free. Due times of later turns follow from the ends of
//! answers, never from the times of sending.
//!
//! This module makes no prompts. It only needs to know whether an answer is complete: a turn that failed is
//! the last turn of its conversation.

use std::{collections::BTreeSet, fmt, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{ClosedPlan, OpenPlan, PassPlan};
use crate::load::model::{Due, EndedRequest, KeptConstant, LoadModel, LoadPlan};
use crate::load::script::{CountOf, Progress, Script, Step};
use crate::{Bound, Nanos, OverLimit, PassKind, load::level::Stages};

/// The description of a pass of conversations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConversationsPlan {
    /// The turns of the conversations.
    pub script: Script,
    /// The load that begins the conversations.
    pub begin: Box<PassPlan>,
    /// Whether `begin` counts conversations or requests.
    pub of: CountOf,
}

impl ConversationsPlan {
    /// How long the pass takes if no request takes any time, in seconds: its begins and gaps alone. The calls must have
    /// been written.
    pub fn shortest_s(&self) -> f64 {
        let (mut load, mut now, mut begun) = (self.start(0), Nanos::ZERO, 0);
        while let Due::At(due) = load.next_due() {
            let (conversation, call) = load.continues().unwrap_or((begun, 0));
            begun += u32::from(load.continues().is_none());
            now = now.max(due);
            load.take();
            load.ended(now, EndedRequest { conversation, call, complete: true });
        }
        now.seconds_after(Nanos::ZERO)
    }

    /// The same pass with this number of jobs; more than there are begin again from the first. The calls must have been
    /// written.
    #[must_use]
    pub fn with_jobs(&self, jobs: u32) -> Self {
        let mut other = self.clone();
        let all: Vec<Vec<Step>> = self.script.steps().map(<[Step]>::to_vec).collect();
        other.write(all.into_iter().cycle().take(jobs as usize));
        other
    }

    /// Sets the calls of each job, and the number of jobs that begin.
    pub fn write(&mut self, jobs: impl IntoIterator<Item = Vec<Step>>) {
        self.script.write(jobs);
        if self.of == CountOf::Conversations {
            self.begin.set_count(self.script.conversations);
        }
    }
}

impl LoadPlan for ConversationsPlan {
    fn kind(&self) -> PassKind {
        self.begin.kind()
    }

    fn requests(&self) -> Option<u32> {
        (self.begin.bound().duration.is_none() && self.script.turns > 0)
            .then_some(self.script.turns)
    }

    fn bound(&self) -> Bound {
        Bound { requests: self.requests(), ..self.begin.bound() }
    }

    fn limit(&self) -> (Option<u32>, OverLimit) {
        self.begin.limit()
    }

    fn stages(&self) -> Stages {
        self.begin.stages()
    }

    fn may_end_before_its_count(&self) -> bool {
        // A recording may have fewer instants than there are conversations.
        matches!(*self.begin, PassPlan::Replay(_)) || self.begin.may_end_before_its_count()
    }

    fn concurrency(&self) -> Option<u32> {
        // A conversation in its think time has no request in flight. So the number of conversations in
        // progress is not the number of requests in flight.
        self.begin.concurrency().filter(|_| self.of == CountOf::Requests)
    }

    fn constant_load(&self) -> Option<f64> {
        self.begin.constant_load().filter(|_| self.of == CountOf::Conversations)
    }

    fn peak_rate(&self) -> f64 {
        // Later turns arrive in addition to first turns. Each conversation in progress has a new turn
        // after each think time.
        let think_s = self.script.mean_think_s();
        let under_way = f64::from(self.at_start().unwrap_or(self.script.conversations));
        let turns = self.script.mean_turns();
        let of_thought = if think_s > 0.0 { under_way * (turns - 1.0) / think_s } else { 0.0 };
        let of_arrivals = self.begin.peak_rate();
        if of_arrivals.is_finite() { (of_arrivals * turns).max(of_thought) } else { of_thought }
    }

    fn keeps_constant(&self) -> KeptConstant {
        KeptConstant::Nothing("turns of a conversation depend on each other: use --repeat")
    }

    fn at_start(&self) -> Option<u32> {
        self.begin.at_start()
    }

    fn last_due_s(&self, each_s: f64) -> f64 {
        let of_turns = self.script.mean_turns() * each_s;
        match self.of {
            CountOf::Conversations => self.begin.last_due_s(of_turns + self.script.mean_think_s()),
            CountOf::Requests => {
                let places = f64::from(self.concurrency().unwrap_or(1).max(1));
                let all = f64::from(self.script.turns) * each_s / places;
                all.min(self.begin.last_due_s(each_s)) + self.script.mean_think_s()
            }
        }
    }

    fn first_due(&self, seed: u64) -> Due {
        self.begin.first_due(seed)
    }

    fn start(&self, seed: u64) -> Box<dyn LoadModel> {
        assert_eq!(
            self.script.steps.len(),
            self.script.conversations as usize,
            "invariant: the turns of conversations are computed before the pass"
        );
        let begin = self.begin.start(seed);
        let steps = Arc::clone(&self.script.steps);
        let limit = self.begin.bound().duration.map(|limit| Nanos::ZERO + limit);
        Box::new(Conversations::new(begin, steps, self.of, limit))
    }
}

impl fmt::Display for ConversationsPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = self.script.noun();
        match (&*self.begin, self.of) {
            (PassPlan::Closed(ClosedPlan { concurrency, .. }), CountOf::Conversations) => {
                let text = concurrency.to_string();
                let what = if text == "1" && self.script.are_jobs { "job" } else { what };
                write!(f, "closed loop, {text} {what} at once")
            }
            (PassPlan::Closed(ClosedPlan { concurrency, .. }), CountOf::Requests) => {
                write!(f, "closed loop, {concurrency} requests of {what} in flight")
            }
            (PassPlan::Open(OpenPlan { rate, .. }), _) => {
                write!(f, "open loop, {rate} {what}/s")
            }
            (PassPlan::OneByOne(_), _) if self.script.are_jobs => {
                f.write_str("one job after the other")
            }
            (PassPlan::OneByOne(_), _) => f.write_str("one conversation after the other"),
            (PassPlan::Saturated(_), _) => write!(f, "all {what} at once"),
            (begin, _) => write!(f, "{what} that start by {begin}"),
        }
    }
}

/// The next request.
#[derive(Clone, Copy)]
enum Next {
    /// The first call of the next job.
    First,
    /// Another call of a job that has begun, by the number of the job and its place in it.
    Call(u32, u32),
}

/// The load model during a pass of conversations. Another load model begins the conversations.
pub struct Conversations {
    begin: Box<dyn LoadModel>,
    steps: Arc<[Box<[Step]>]>,
    of: CountOf,
    /// The instant from which on no request is begun; `None`: no such limit.
    limit: Option<Nanos>,
    /// The jobs that have begun; `None` once they are over.
    jobs: Vec<Option<Progress>>,
    /// The calls that wait for nothing but their due time: this time, the job, and the place in it.
    ready: BTreeSet<(Nanos, u32, u32)>,
    /// The number of requests in flight for which another call waits.
    to_be_followed: u32,
}

impl Conversations {
    /// Creates the model. `begin` decides when jobs begin. `of` states whether `begin` counts jobs or requests. `steps`
    /// has the calls of each job. No request is begun from `limit` on.
    pub fn new(
        begin: Box<dyn LoadModel>,
        steps: Arc<[Box<[Step]>]>,
        of: CountOf,
        limit: Option<Nanos>,
    ) -> Self {
        let (jobs, ready, to_be_followed) = (Vec::new(), BTreeSet::new(), 0);
        Self { begin, steps, of, limit, jobs, ready, to_be_followed }
    }

    /// The due time of the next request, and which it is. The error is [`Due::AfterEnd`] or [`Due::Never`],
    /// if no request has a due time before the limit.
    fn next(&self) -> Result<(Nanos, Next), Due> {
        let follows = self.ready.first().map(|&(due, job, call)| (due, Next::Call(job, call)));
        let fresh = self.jobs.len() < self.steps.len();
        let (due, next) = match (self.of, self.begin.next_due(), follows) {
            // A place is free. A waiting call takes the place if it is due by `free`, or if no new job is
            // left. Otherwise a new job takes it.
            (CountOf::Requests, Due::At(free), Some((due, next))) if due <= free || !fresh => {
                (due.max(free), next)
            }
            (CountOf::Requests, Due::At(free), _) if fresh => (free, Next::First),
            (CountOf::Requests, Due::AfterEnd, _) => return Err(Due::AfterEnd),
            (CountOf::Requests, ..) => return Err(self.nothing()),
            (CountOf::Conversations, Due::At(at), Some((due, next))) if fresh => {
                if due <= at {
                    (due, next)
                } else {
                    (at, Next::First)
                }
            }
            (CountOf::Conversations, Due::At(at), None) if fresh => (at, Next::First),
            (CountOf::Conversations, _, Some(follows)) => follows,
            (CountOf::Conversations, Due::AfterEnd, None) if fresh => return Err(Due::AfterEnd),
            (CountOf::Conversations, _, None) => return Err(self.nothing()),
        };
        match self.limit {
            Some(limit) if due >= limit => Err(self.nothing()),
            _ => Ok((due, next)),
        }
    }

    /// The value of `next_due` if no due time is known: `AfterEnd` if a call may follow a request in flight,
    /// otherwise `Never`.
    fn nothing(&self) -> Due {
        if self.to_be_followed > 0 { Due::AfterEnd } else { Due::Never }
    }

    fn add(&mut self, job: u32, ready: Vec<(u32, Nanos)>) {
        self.ready.extend(ready.into_iter().map(|(call, due)| (due, job, call)));
    }
}

impl LoadModel for Conversations {
    fn next_due(&self) -> Due {
        self.next().map_or_else(|nothing| nothing, |(due, _)| Due::At(due))
    }

    fn continues(&self) -> Option<(u32, u32)> {
        match self.next() {
            Ok((_, Next::Call(job, call))) => Some((job, call)),
            _ => None,
        }
    }

    fn take(&mut self) {
        let Ok((due, next)) = self.next() else { return };
        let (job, call) = match next {
            Next::First => {
                let job = self.jobs.len() as u32;
                let (progress, ready) = Progress::begin(&self.steps[job as usize], due);
                self.jobs.push(Some(progress));
                self.add(job, ready);
                (job, 0)
            }
            Next::Call(job, call) => {
                self.ready.pop_first();
                (job, call)
            }
        };
        if matches!(next, Next::First) || self.of == CountOf::Requests {
            self.begin.take();
        }
        self.to_be_followed += u32::from(self.steps[job as usize][call as usize].is_awaited);
    }

    fn ended(&mut self, at: Nanos, ended: EndedRequest) {
        let EndedRequest { conversation: job, call, complete } = ended;
        let steps = &self.steps[job as usize];
        self.to_be_followed -= u32::from(steps[call as usize].is_awaited);
        let slot = &mut self.jobs[job as usize];
        let progress = slot.as_mut().expect("invariant: a job with a request is not over");
        let freed = progress.ended(steps, call, at, complete);
        let is_over = progress.is_over();
        if is_over {
            *slot = None;
        }
        self.add(job, freed.ready);
        if self.of == CountOf::Requests || is_over {
            self.begin.ended(at, ended);
        }
    }
}

#[cfg(test)]
mod tests;
