//! `[sweep]`: the load made higher and higher until the server is saturated, as a person asks for it.

use serde::{Deserialize, Serialize};

use super::Value;

/// The keys of `[sweep]`. Everything is optional.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SweepSpec {
    /// What is made higher: `concurrency`, `rate`.
    pub by: Option<String>,
    /// The share of the throughput at saturation that is reached at the knee.
    pub knee: Option<Value>,
    /// The probability that an interval holds what it is of.
    pub confidence: Option<Value>,
    /// How close together the ends of the knee's interval are to lie.
    pub precision: Option<Value>,
    /// The most requests in flight that are tried.
    pub max_concurrency: Option<u32>,
    /// The highest rate that is tried.
    pub max_rate: Option<Value>,
    /// The most requests of all trials.
    pub max_requests: Option<u64>,
    /// The most trials.
    pub max_trials: Option<u32>,
    /// The most time of all trials.
    pub max_time: Option<Value>,
    /// Cards that the server runs on, for figures per card.
    pub gpus: Option<u32>,
}
