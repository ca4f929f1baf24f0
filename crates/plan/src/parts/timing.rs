//! Warm-up and repeats.

use std::time::Duration;

use inferometer_model::json::{form, one_of};
use inferometer_model::{Bound, PassPlan, time::nanoseconds};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::precision::Precision;

/// Requests that are sent before each cell and are not reported.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Warmup {
    /// A number of requests, one at a time; 0: no warm-up.
    Requests(u32),
    /// Requests, one at a time, until a time has passed.
    Time {
        /// The time.
        #[serde(rename = "duration_ns", serialize_with = "nanoseconds::serialize")]
        duration: Duration,
    },
    /// The requests of this load.
    Load(Box<PassPlan>),
}

impl<'de> Deserialize<'de> for Warmup {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        one_of(from, "a number of requests, a time or a load", |value| {
            match (&value["kind"], &value["duration_ns"]) {
                (Value::String(_), _) => form(value).map(Self::Load),
                (_, Value::Null) => form(value).map(Self::Requests),
                (_, time) => {
                    nanoseconds::deserialize(time).ok().map(|duration| Self::Time { duration })
                }
            }
        })
    }
}

impl Warmup {
    /// The warm-up with the limit of requests in flight that the passes of the plan have.
    pub(crate) fn limited(mut self, most: Option<u32>) -> Self {
        if let Self::Load(pass) = &mut self
            && let PassPlan::Open(open) = &mut **pass
        {
            open.max_in_flight = most;
        }
        self
    }

    /// The pass that sends the requests; `None` if there is no warm-up.
    pub fn pass(&self) -> Option<PassPlan> {
        match self {
            Self::Requests(0) => None,
            Self::Requests(count) => Some(PassPlan::one_by_one(Bound::requests(*count))),
            Self::Time { duration } => {
                Some(PassPlan::one_by_one(Bound { requests: None, duration: Some(*duration) }))
            }
            Self::Load(pass) => Some((**pass).clone()),
        }
    }
}

/// How many times the passes of a cell are run, with new prompts each time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repeat {
    /// The minimum number of repeats.
    pub at_least: u32,
    /// The maximum number of repeats; equal to `at_least` if the number of repeats is fixed.
    pub at_most: u32,
    /// The precisions that end the repeats early: a cell is repeated until all of these figures are
    /// precise enough, at most `at_most` times.
    pub until: Vec<Precision>,
}

impl Default for Repeat {
    fn default() -> Self {
        Self { at_least: 1, at_most: 1, until: Vec::new() }
    }
}
