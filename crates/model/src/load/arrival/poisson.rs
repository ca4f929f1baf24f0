//! Poisson arrivals: the gaps are exponential and independent.

use rand_chacha::ChaCha8Rng;

use crate::stats::portable;
use crate::stats::seed::{rng, unit};

/// Poisson arrivals, one per second on average.
#[derive(Debug)]
pub struct Poisson {
    second: f64,
    rng: ChaCha8Rng,
}

impl Poisson {
    /// Creates arrivals from a seed. The same seed gives the same arrivals.
    pub fn new(seed: u64) -> Self {
        Self { second: 0.0, rng: rng(seed, &["arrival", "poisson"]) }
    }
}

impl Iterator for Poisson {
    type Item = f64;

    fn next(&mut self) -> Option<f64> {
        // Inversion: -ln(1 - u) is exponential with mean 1 for u uniform in [0, 1).
        self.second += -portable::ln(1.0 - unit(&mut self.rng));
        Some(self.second)
    }
}
