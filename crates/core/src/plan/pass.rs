//! How a pass loads the server, as data. What each way means is in [`crate::load`].

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::duration_ns;
use crate::arrival::Arrivals;
use crate::load::{self, CountOf, Level, LoadPlan, Recording, Script, Stages};
use crate::summary::PassKind;
use crate::time::Nanos;

/// The [`PassPlan::prompt_label`] of arrivals at recorded instants.
pub const RECORDED: &str = "recorded arrivals";

/// How a pass loads the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum PassPlan {
    /// One request at a time.
    OneByOne {
        /// When it ends.
        bound: Bound,
    },
    /// All requests due at once.
    Saturated {
        /// How many.
        requests: u32,
    },
    /// A number in flight.
    Closed {
        /// How many in flight.
        concurrency: Level,
        /// When it ends.
        bound: Bound,
    },
    /// Arrivals at a rate.
    Open {
        /// Requests per second.
        rate: Level,
        /// How arrivals are spread around the rate.
        #[serde(default)]
        arrivals: Arrivals,
        /// When it ends.
        bound: Bound,
        /// The most in flight.
        max_in_flight: Option<u32>,
        /// What becomes of requests that are due beyond it.
        #[serde(default)]
        over_limit: OverLimit,
    },
    /// Arrivals at recorded instants.
    Replay {
        /// The instants.
        recording: Recording,
        /// How much faster than they were recorded.
        speed: f64,
        /// When it ends before the recording does.
        bound: Bound,
        /// The most in flight.
        max_in_flight: Option<u32>,
        /// What becomes of requests that are due beyond it.
        over_limit: OverLimit,
    },
    /// Conversations, each of which goes on at the end of its answers.
    Conversations {
        /// Their turns.
        script: Script,
        /// How they begin: a way that counts conversations, or requests.
        begin: Box<PassPlan>,
        /// Which of the two it counts.
        of: CountOf,
    },
}

/// What becomes of a request that is due while as many are in flight as may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverLimit {
    /// It waits, and the wait counts from when it was due.
    #[default]
    Queue,
    /// It is dropped, and counted as dropped.
    Drop,
}

/// When a pass stops to begin requests: after a count, after a time, or at whichever comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bound {
    /// Requests.
    pub requests: Option<u32>,
    /// Time from the start of the pass.
    #[serde(with = "duration_ns")]
    pub duration: Option<Duration>,
}

impl Bound {
    /// Ends after this many requests.
    #[must_use]
    pub fn requests(count: u32) -> Self {
        Self { requests: Some(count), duration: None }
    }

    /// Ends when its load model does.
    #[must_use]
    pub fn none() -> Self {
        Self { requests: None, duration: None }
    }
}

impl PassPlan {
    /// A closed loop with this many in flight.
    #[must_use]
    pub fn closed(concurrency: u32, bound: Bound) -> Self {
        Self::Closed { concurrency: concurrency.into(), bound }
    }

    /// An open loop with Poisson arrivals at this rate, in requests per second, and any number in
    /// flight.
    #[must_use]
    pub fn open(rate_per_s: f64, bound: Bound) -> Self {
        Self::Open {
            rate: rate_per_s.into(),
            arrivals: Arrivals::Poisson,
            bound,
            max_in_flight: None,
            over_limit: OverLimit::Queue,
        }
    }

    /// What its load model says of itself.
    #[must_use]
    pub fn load(&self) -> Box<dyn LoadPlan + '_> {
        load::plan(self)
    }

    /// The kind, as results name it.
    #[must_use]
    pub fn kind(&self) -> PassKind {
        self.load().kind()
    }

    /// The number of requests, where it is known beforehand.
    #[must_use]
    pub fn requests(&self) -> Option<u32> {
        self.load().requests()
    }

    /// The most in flight, and what becomes of requests that are due beyond it.
    #[must_use]
    pub fn limit(&self) -> (Option<u32>, OverLimit) {
        match self {
            Self::Open { max_in_flight, over_limit, .. }
            | Self::Replay { max_in_flight, over_limit, .. } => (*max_in_flight, *over_limit),
            Self::Conversations { begin, .. } => begin.limit(),
            Self::OneByOne { .. } | Self::Saturated { .. } | Self::Closed { .. } => {
                (None, OverLimit::Queue)
            }
        }
    }

    /// The stages that its level goes through, if it does.
    #[must_use]
    pub fn stages(&self) -> Stages {
        match self {
            Self::Closed { concurrency: level, .. } | Self::Open { rate: level, .. } => {
                Stages::of(level)
            }
            Self::Conversations { begin, .. } => begin.stages(),
            Self::OneByOne { .. } | Self::Saturated { .. } | Self::Replay { .. } => {
                Stages::default()
            }
        }
    }

    /// When it stops to begin requests.
    #[must_use]
    pub fn bound(&self) -> Bound {
        match *self {
            Self::OneByOne { bound }
            | Self::Closed { bound, .. }
            | Self::Open { bound, .. }
            | Self::Replay { bound, .. } => bound,
            Self::Saturated { requests } => Bound::requests(requests),
            Self::Conversations { ref begin, .. } => {
                Bound { requests: self.requests(), ..begin.bound() }
            }
        }
    }

    /// Whether something else than its count of requests may end it: a time, or a load that runs
    /// out. It may then have fewer records than [`PassPlan::requests`] says.
    #[must_use]
    pub fn may_end_before_its_count(&self) -> bool {
        match self {
            Self::Saturated { .. } => false,
            Self::OneByOne { bound } | Self::Replay { bound, .. } => bound.duration.is_some(),
            Self::Closed { bound, concurrency: level } | Self::Open { bound, rate: level, .. } => {
                bound.duration.is_some() || level.duration().is_some()
            }
            // A recording may have fewer instants than there are conversations.
            Self::Conversations { begin, .. } => {
                matches!(**begin, Self::Replay { .. }) || begin.may_end_before_its_count()
            }
        }
    }

    /// What tells its prompts from those of the other passes of a plan: the load, as people call
    /// it. Of recorded arrivals, which a plan has once at most, never the file's name: the same
    /// bytes in another place are the same workload.
    #[must_use]
    pub fn prompt_label(&self) -> String {
        match self {
            Self::Replay { .. } => RECORDED.to_owned(),
            Self::Conversations { begin, .. } if matches!(**begin, Self::Replay { .. }) => {
                format!("conversations, {RECORDED}")
            }
            other => other.to_string(),
        }
    }

    /// Gives recorded arrivals that end after a time the count of those that are due until then, so
    /// that no others are made. The recording has been read.
    pub fn count_what_is_due(&mut self) {
        if let Self::Replay { recording, speed, bound, .. } = self
            && let Some(limit) = bound.duration
        {
            let due = recording.due_before(Nanos::ZERO + limit, *speed);
            bound.requests = Some(bound.requests.map_or(due, |most| most.min(due)));
        }
    }

    /// The recording that has to be read before it is played.
    pub fn recording_mut(&mut self) -> Option<&mut Recording> {
        match self {
            Self::Replay { recording, .. } => Some(recording),
            Self::Conversations { begin, .. } => begin.recording_mut(),
            _ => None,
        }
    }

    /// The conversations that have to be drawn before they are played.
    pub fn script_mut(&mut self) -> Option<&mut Script> {
        match self {
            Self::Conversations { script, .. } => Some(script),
            _ => None,
        }
    }
}

impl fmt::Display for PassPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.load().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{CountOf, Script};

    #[test]
    fn the_place_of_a_recording_tells_no_prompts_apart() {
        let replay = |file: &str| PassPlan::Replay {
            recording: Recording::of_file(file),
            speed: 1.0,
            bound: Bound::none(),
            max_in_flight: None,
            over_limit: OverLimit::Queue,
        };
        let talks = |file: &str| PassPlan::Conversations {
            script: Script::of(2),
            begin: Box::new(replay(file)),
            of: CountOf::Conversations,
        };
        assert_eq!(replay("a/x").prompt_label(), replay("b/y").prompt_label());
        assert_eq!(talks("a/x").prompt_label(), talks("b/y").prompt_label());
        let others = [talks("a/x"), replay("a/x"), PassPlan::closed(2, Bound::requests(3))];
        let labels = others.map(|pass| pass.prompt_label());
        assert!(labels[0] != labels[1] && labels[1] != labels[2]);
        assert_eq!(labels[2], "closed loop, 2 in flight");
    }
}
