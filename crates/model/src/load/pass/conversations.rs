//! The load model of conversations. Another load model decides when the first turn of each conversation
//! is due. Each later turn is due one think time after the end of the previous answer. With
//! `CountOf::Requests`, a place must also be free. Due times of later turns follow from the ends of
//! answers, never from the times of sending.
//!
//! This module makes no prompts. It only needs to know whether an answer is complete: a turn that failed is
//! the last turn of its conversation.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{ClosedPlan, OpenPlan, PassPlan};
use crate::load::level::Stages;
use crate::load::model::{Due, EndedRequest, KeptConstant, LoadModel, LoadPlan};
use crate::load::script::{CountOf, Script};
use crate::{Bound, Nanos, OverLimit, PassKind};

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
            self.script.think.len(),
            self.script.conversations as usize,
            "invariant: the turns of conversations are computed before the pass"
        );
        let begin = self.begin.start(seed);
        let think = Arc::clone(&self.script.think);
        let limit = self.begin.bound().duration.map(|limit| Nanos::ZERO + limit);
        Box::new(Conversations::new(begin, think, self.of, limit))
    }
}

impl fmt::Display for ConversationsPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&*self.begin, self.of) {
            (PassPlan::Closed(ClosedPlan { concurrency, .. }), CountOf::Conversations) => {
                write!(f, "closed loop, {concurrency} conversations at once")
            }
            (PassPlan::Closed(ClosedPlan { concurrency, .. }), CountOf::Requests) => {
                write!(f, "closed loop, {concurrency} requests of conversations in flight")
            }
            (PassPlan::Open(OpenPlan { rate, .. }), _) => {
                write!(f, "open loop, {rate} conversations/s")
            }
            (PassPlan::OneByOne(_), _) => f.write_str("one conversation after the other"),
            (PassPlan::Saturated(_), _) => f.write_str("all conversations at once"),
            (begin, _) => write!(f, "conversations that start by {begin}"),
        }
    }
}

/// The next request.
#[derive(Clone, Copy)]
enum Turn {
    /// The first turn of the next conversation.
    First,
    /// The next turn of the conversation with this number.
    Of(u32),
}

/// The load model during a pass of conversations. Another load model begins the conversations.
pub struct Conversations {
    begin: Box<dyn LoadModel>,
    think: Arc<[Box<[Duration]>]>,
    of: CountOf,
    /// The instant from which on no request is begun; `None`: no such limit.
    limit: Option<Nanos>,
    /// For each conversation that has begun: the number of its current turn, from 0.
    at: Vec<u32>,
    /// The due times of turns whose previous answer has ended, each with the number of the conversation.
    thinking: BTreeSet<(Nanos, u32)>,
    /// The number of requests in flight that are not the last turn of their conversation.
    to_be_followed: u32,
}

impl Conversations {
    /// Creates the model. `begin` decides when conversations begin. `of` states whether `begin` counts conversations or
    /// requests. `think` has, for each conversation, the think time before each of its turns. No request is begun
    /// from `limit` on.
    pub fn new(
        begin: Box<dyn LoadModel>,
        think: Arc<[Box<[Duration]>]>,
        of: CountOf,
        limit: Option<Nanos>,
    ) -> Self {
        Self {
            begin,
            think,
            of,
            limit,
            at: Vec::new(),
            thinking: BTreeSet::new(),
            to_be_followed: 0,
        }
    }

    /// The due time of the next request, and its turn. The error is [`Due::AfterEnd`] or [`Due::Never`],
    /// if no request has a due time before the limit.
    fn next(&self) -> Result<(Nanos, Turn), Due> {
        let follows = self.thinking.first().copied();
        let fresh = self.at.len() < self.think.len();
        let (due, turn) = match (self.of, self.begin.next_due(), follows) {
            // A place is free. A waiting turn takes the place if it is due by `free`, or if no new conversation is
            // left. Otherwise a new conversation takes it.
            (CountOf::Requests, Due::At(free), Some((due, which))) if due <= free || !fresh => {
                (due.max(free), Turn::Of(which))
            }
            (CountOf::Requests, Due::At(free), _) if fresh => (free, Turn::First),
            (CountOf::Requests, Due::AfterEnd, _) => return Err(Due::AfterEnd),
            (CountOf::Requests, ..) => return Err(self.nothing()),
            (CountOf::Conversations, Due::At(at), Some((due, which))) if fresh => {
                if due <= at {
                    (due, Turn::Of(which))
                } else {
                    (at, Turn::First)
                }
            }
            (CountOf::Conversations, Due::At(at), None) if fresh => (at, Turn::First),
            (CountOf::Conversations, _, Some((due, which))) => (due, Turn::Of(which)),
            (CountOf::Conversations, Due::AfterEnd, None) if fresh => return Err(Due::AfterEnd),
            (CountOf::Conversations, _, None) => return Err(self.nothing()),
        };
        match self.limit {
            Some(limit) if due >= limit => Err(self.nothing()),
            _ => Ok((due, turn)),
        }
    }

    /// The value of `next_due` if no due time is known: `AfterEnd` if a turn may follow a request in flight,
    /// otherwise `Never`.
    fn nothing(&self) -> Due {
        if self.to_be_followed > 0 { Due::AfterEnd } else { Due::Never }
    }

    fn turns(&self, which: u32) -> u32 {
        self.think[which as usize].len() as u32
    }
}

impl LoadModel for Conversations {
    fn next_due(&self) -> Due {
        self.next().map_or_else(|nothing| nothing, |(due, _)| Due::At(due))
    }

    fn continues(&self) -> Option<u32> {
        match self.next() {
            Ok((_, Turn::Of(which))) => Some(which),
            _ => None,
        }
    }

    fn take(&mut self) {
        let Ok((_, turn)) = self.next() else { return };
        let which = match turn {
            Turn::First => {
                self.at.push(0);
                self.at.len() as u32 - 1
            }
            Turn::Of(which) => {
                self.thinking.pop_first();
                self.at[which as usize] += 1;
                which
            }
        };
        if matches!(turn, Turn::First) || self.of == CountOf::Requests {
            self.begin.take();
        }
        self.to_be_followed += u32::from(self.at[which as usize] + 1 < self.turns(which));
    }

    fn ended(&mut self, at: Nanos, ended: EndedRequest) {
        let which = ended.conversation;
        let next = self.at[which as usize] + 1;
        let follows = next < self.turns(which);
        self.to_be_followed -= u32::from(follows);
        let goes_on = follows && ended.complete;
        if goes_on {
            let think = self.think[which as usize][next as usize];
            self.thinking.insert((at + think, which));
        }
        if self.of == CountOf::Requests || !goes_on {
            self.begin.ended(at, ended);
        }
    }
}

#[cfg(test)]
mod tests;
