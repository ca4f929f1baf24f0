//! When a pass stops beginning requests, and what happens to a request that is due above the limit of
//! requests in flight.

use std::time::Duration;

use inferometer_model::time::optional_nanoseconds;
use serde::{Deserialize, Serialize};

/// When a pass stops beginning requests: after a count, after a time, or at whichever comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bound {
    /// The number of requests.
    pub requests: Option<u32>,
    /// Time from the start of the pass.
    #[serde(with = "optional_nanoseconds")]
    pub duration: Option<Duration>,
}

impl Bound {
    /// Ends after this many requests.
    pub fn requests(count: u32) -> Self {
        Self { requests: Some(count), duration: None }
    }

    /// Ends when its load model does.
    pub fn none() -> Self {
        Self { requests: None, duration: None }
    }
}

/// What happens to a request that is due while the limit of requests in flight is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverLimit {
    /// It waits, and the wait counts from its due time.
    #[default]
    Queue,
    /// It is dropped, and counted as dropped.
    Drop,
}
