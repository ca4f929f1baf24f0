//! The load model of the pass "saturated": all requests are due at the start.

use derive_more::Display;
use serde::{Deserialize, Serialize};

use crate::load::model::{Due, EndedRequest, KeptConstant, LoadModel, LoadPlan};
use crate::{Bound, Nanos, PassKind};

/// The description of the pass "saturated".
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Display)]
#[display("saturated")]
pub struct SaturatedPlan {
    /// The number of requests.
    pub requests: u32,
}

impl LoadPlan for SaturatedPlan {
    fn kind(&self) -> PassKind {
        PassKind::Saturated
    }

    fn bound(&self) -> Bound {
        Bound::requests(self.requests)
    }

    fn most_in_flight(&self) -> Option<u32> {
        Some(self.requests)
    }

    fn is_limited(&self) -> bool {
        true
    }

    fn keeps_constant(&self) -> KeptConstant {
        KeptConstant::AT_ONCE
    }

    fn at_start(&self) -> Option<u32> {
        Some(self.requests)
    }

    fn last_due_s(&self, _each_s: f64) -> f64 {
        0.0
    }

    fn start(&self, _seed: u64) -> Box<dyn LoadModel> {
        Box::new(AtOnce::new(self.requests))
    }
}

/// The load model during the pass "saturated": a number of requests, all due at the start.
#[derive(Debug)]
pub struct AtOnce {
    left: u32,
}

impl AtOnce {
    /// Creates the model of a pass with this many requests.
    pub fn new(requests: u32) -> Self {
        Self { left: requests }
    }
}

impl LoadModel for AtOnce {
    fn next_due(&self) -> Due {
        if self.left > 0 { Due::At(Nanos::ZERO) } else { Due::Never }
    }

    fn take(&mut self) {
        self.left -= 1;
    }

    fn ended(&mut self, _at: Nanos, _ended: EndedRequest) {}
}
