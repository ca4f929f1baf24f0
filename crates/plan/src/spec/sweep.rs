//! `[sweep]`: the increase of the load until the server is saturated, as the user writes it.

use serde::{Deserialize, Serialize};

use super::Value;

/// The keys of `[sweep]`. Everything is optional.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SweepSpec {
    /// Which load is varied: `concurrency`, `rate`.
    pub by: Option<String>,
    /// The share of the saturation throughput that defines the knee: the knee is the load at which this
    /// share is reached.
    pub knee: Option<Value>,
    /// The probability that an interval covers the true value.
    pub confidence: Option<Value>,
    /// How narrow the knee's interval must be, relative to its lower end.
    pub precision: Option<Value>,
    /// The highest number of requests in flight that is tried.
    pub max_concurrency: Option<u32>,
    /// The highest rate that is tried.
    pub max_rate: Option<Value>,
    /// The maximum number of requests of all trials of a cell together.
    pub max_requests: Option<u64>,
    /// The maximum number of trials of a cell.
    pub max_trials: Option<u32>,
    /// The maximum time of all trials of a cell together.
    pub max_time: Option<Value>,
    /// The number of cards that the server uses, for figures per card.
    pub gpus: Option<u32>,
}
