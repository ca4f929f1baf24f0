//! All requests due at the start: the saturated server of the published tables.

use super::{Due, LoadModel};
use crate::time::Nanos;

/// A number of requests, all due at the start.
#[derive(Debug)]
pub struct AtOnce {
    left: u32,
}

impl AtOnce {
    /// This many requests.
    #[must_use]
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

    fn ended(&mut self, _at: Nanos) {}
}
