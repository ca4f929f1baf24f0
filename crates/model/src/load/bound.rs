//! When a pass stops starting requests, and what happens to a request that is due while the limit of
//! requests in flight is reached.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::time::optional_nanoseconds;

/// When a pass stops starting requests: after a count, after a time, or at the earlier of the two. If both
/// are `None`, only the load model decides when it stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bound {
    /// The maximum number of requests; `None`: no such limit.
    pub requests: Option<u32>,
    /// The time from the start of the pass after which no request starts; `None`: no such limit.
    #[serde(with = "optional_nanoseconds")]
    pub duration: Option<Duration>,
}

impl Bound {
    /// The bound of a pass that stops after this many requests.
    pub fn requests(count: u32) -> Self {
        Self { requests: Some(count), duration: None }
    }

    /// No bound: the pass stops when its load model has no more requests.
    pub fn none() -> Self {
        Self { requests: None, duration: None }
    }
}

/// What happens to a request that is due while the limit of requests in flight is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverLimit {
    /// The request waits. The wait is counted from its due time.
    #[default]
    Queue,
    /// The request is not sent, and is recorded with the outcome `dropped`.
    Drop,
}
