//! The load model of the pass "bursts": a group of requests is due at the start of each tenth of a second.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Open;
use crate::load::bound::Bound;
use crate::load::kind::PassKind;
use crate::load::model::{LoadModel, LoadPlan};
use crate::time::Nanos;

/// The number of requests in a group.
const GROUP: u32 = 4;
/// The time from the start of a group to the start of the next one, in nanoseconds.
const GAP_NS: u64 = 100_000_000;

/// The description of the pass "bursts".
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BurstsPlan {
    /// The number of requests.
    pub requests: u32,
}

impl LoadPlan for BurstsPlan {
    fn kind(&self) -> PassKind {
        PassKind::Open
    }

    fn requests(&self) -> Option<u32> {
        Some(self.requests)
    }

    fn bound(&self) -> Bound {
        Bound::requests(self.requests)
    }

    fn peak_rate(&self) -> f64 {
        f64::from(GROUP) * 1e9 / GAP_NS as f64
    }

    fn is_scheduled(&self) -> bool {
        true
    }

    fn at_start(&self) -> Option<u32> {
        Some(GROUP.min(self.requests))
    }

    fn last_due_s(&self, _each_s: f64) -> f64 {
        f64::from(self.requests.saturating_sub(1) / GROUP) * GAP_NS as f64 / 1e9
    }

    fn start(&self, _seed: u64) -> Box<dyn LoadModel> {
        let due = (0..).map(|index: u32| Nanos(u64::from(index / GROUP) * GAP_NS));
        Box::new(Open::new(due, self.bound()))
    }
}

impl fmt::Display for BurstsPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bursts of {GROUP} requests")
    }
}
