//! How a pass loads the server, as data. [`crate`] explains the load models.

use serde::{Deserialize, Serialize};

use crate::arrival::Arrivals;
use crate::bound::{Bound, OverLimit};
use crate::level::{Level, Stages};
use crate::recording::Recording;
use crate::script::{CountOf, Script};
use inferometer_model::cell::CellPlan;
use inferometer_model::time::Nanos;
use inferometer_stats::seed::{below, rng};

/// The [`PassPlan::prompt_label`] of recorded arrivals.
pub const RECORDED: &str = "recorded arrivals";

/// How a pass loads the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum PassPlan {
    /// One request at a time.
    OneByOne {
        /// When the pass stops starting requests.
        bound: Bound,
    },
    /// All requests due at once.
    Saturated {
        /// The number of requests.
        requests: u32,
    },
    /// A given number of requests in flight, which may change over time.
    Closed {
        /// The number of requests in flight.
        concurrency: Level,
        /// When the pass stops starting requests.
        bound: Bound,
    },
    /// Arrivals at a rate.
    Open {
        /// Requests per second.
        rate: Level,
        /// How arrivals are spread around the rate.
        #[serde(default)]
        arrivals: Arrivals,
        /// Whether the gaps are scaled so that the requested number of requests arrives at exactly this
        /// rate. If false, the gaps are as drawn. Stored plans without this key mean false.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        scaled: bool,
        /// When the pass stops starting requests.
        bound: Bound,
        /// The most requests in flight; `None`: no limit.
        max_in_flight: Option<u32>,
        /// What happens to requests that are due while this limit is reached.
        #[serde(default)]
        over_limit: OverLimit,
    },
    /// Arrivals at recorded times.
    Replay {
        /// The recorded times.
        recording: Recording,
        /// The speed relative to the recording: 2 halves all gaps.
        speed: f64,
        /// When the pass stops starting requests, if this is before the end of the recording.
        bound: Bound,
        /// The most requests in flight; `None`: no limit.
        max_in_flight: Option<u32>,
        /// What happens to requests that are due while this limit is reached.
        over_limit: OverLimit,
    },
    /// Conversations: each later turn follows the end of an answer.
    Conversations {
        /// The turns of the conversations.
        script: Script,
        /// The load that begins the conversations.
        begin: Box<PassPlan>,
        /// Whether `begin` counts conversations or requests.
        of: CountOf,
    },
}

impl PassPlan {
    /// A closed loop with this constant number of requests in flight.
    pub fn closed(concurrency: u32, bound: Bound) -> Self {
        Self::Closed { concurrency: concurrency.into(), bound }
    }

    /// An open loop at this constant rate in requests per second: Poisson arrivals as drawn, without a
    /// limit of requests in flight.
    pub fn open(rate_per_s: f64, bound: Bound) -> Self {
        Self::Open {
            rate: rate_per_s.into(),
            arrivals: Arrivals::Poisson,
            scaled: false,
            bound,
            max_in_flight: None,
            over_limit: OverLimit::Queue,
        }
    }

    /// The limit of requests in flight that a plan sets for arrivals, and what happens to requests that are
    /// due while it is reached. `None`: the plan sets no such limit.
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

    /// The most requests that the load can have in flight. For conversations and arrivals, it is the number
    /// of [`Self::limit`]; `None` if there is none.
    pub fn most_in_flight(&self) -> Option<u32> {
        match self {
            Self::OneByOne { .. } => Some(1),
            Self::Saturated { requests } => Some(*requests),
            Self::Closed { concurrency, .. } => Some(concurrency.peak().round() as u32),
            pass => pass.limit().0,
        }
    }

    /// Whether the requests in flight are limited to a number of two or more, so that a request may begin
    /// when another one ends. A load with all requests at once counts as limited. For conversations and
    /// arrivals, only [`Self::limit`] counts.
    pub fn is_limited(&self) -> bool {
        match self {
            Self::OneByOne { .. } => false,
            Self::Saturated { .. } => true,
            Self::Closed { concurrency, .. } => concurrency.peak() > 1.0,
            pass => pass.limit().0.is_some_and(|limit| limit > 1),
        }
    }

    /// The stages of the rate or the concurrency; empty if there are fewer than two.
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

    /// When the pass stops starting requests.
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

    /// Whether the pass may end before its number of requests is reached: because of a time bound, the end
    /// of its stages, or the end of a recording. If so, it may have fewer records than
    /// [`PassPlan::requests`] says.
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

    /// A label that distinguishes its prompts from those of the other passes of a plan: the load, as users
    /// see it. For recorded arrivals, the label does not contain the name of the file, because the same
    /// content in another file is the same workload. (A plan has recorded arrivals at most once.)
    pub fn prompt_label(&self) -> String {
        match self {
            Self::Replay { .. } => RECORDED.to_owned(),
            Self::Conversations { begin, .. } if matches!(**begin, Self::Replay { .. }) => {
                format!("conversations, {RECORDED}")
            }
            other => other.to_string(),
        }
    }

    /// The seed of the random choices of this pass. It is computed from the seed of the plan, the cell, the
    /// load and the repeat (from 1). So two passes of a run have different arrivals, and the same pass has
    /// the same arrivals in every run.
    pub fn seed(&self, of_plan: u64, cell: CellPlan, repeat: u32) -> u64 {
        let (cell, load, repeat) = (cell.to_string(), self.prompt_label(), repeat.to_string());
        below(&mut rng(of_plan, &["pass", &cell, &load, &repeat]), u64::MAX)
    }

    /// Limits the count of recorded arrivals to those that are due before the time bound. Does nothing for
    /// other loads, or without a time bound. The recording must have been read.
    pub fn limit_count_to_duration(&mut self) {
        if let Self::Replay { recording, speed, bound, .. } = self
            && let Some(limit) = bound.duration
        {
            let due = recording.due_before(Nanos::ZERO + limit, *speed);
            bound.requests = Some(bound.requests.map_or(due, |most| most.min(due)));
        }
    }

    /// The recording of the load, if it has one. It must be read before the pass.
    pub fn recording_mut(&mut self) -> Option<&mut Recording> {
        match self {
            Self::Replay { recording, .. } => Some(recording),
            Self::Conversations { begin, .. } => begin.recording_mut(),
            _ => None,
        }
    }

    /// The turns of the conversations, if the load has them. They must be drawn before the pass.
    pub fn script_mut(&mut self) -> Option<&mut Script> {
        match self {
            Self::Conversations { script, .. } => Some(script),
            _ => None,
        }
    }

    /// The same arrivals, `factor` times as fast. `None` if due times depend on the ends of requests, or if
    /// the rate has stages.
    pub fn faster(&self, factor: f64) -> Option<Self> {
        let mut faster = self.clone();
        let bound = match &mut faster {
            Self::Open { rate: Level::Constant(rate), bound, .. } => {
                *rate *= factor;
                bound
            }
            Self::Replay { speed, bound, .. } => {
                *speed *= factor;
                bound
            }
            _ => return None,
        };
        bound.duration = bound.duration.map(|duration| duration.div_f64(factor));
        Some(faster)
    }

    /// The rate in requests per second, or the number of requests in flight; `None` if it is not constant,
    /// and for other kinds of passes. In a search, it is the load of a trial.
    pub fn constant_load(&self) -> Option<f64> {
        match self {
            Self::Open { rate: level, .. } | Self::Closed { concurrency: level, .. } => {
                level.constant()
            }
            _ => None,
        }
    }
}
