//! Reductions between tensor-parallel cards: two per layer, after attention and after the MLP.
//! Figures are the card's link, not calibrated.

use crate::config::Resolved;

/// The reductions of one step.
#[derive(Clone, Debug)]
pub(super) struct Reduction {
    empty_s: f64,
    row_s: f64,
}

impl Reduction {
    pub(super) fn new(config: &Resolved) -> Self {
        let cards = f64::from(config.tensor_parallel_size);
        if config.tensor_parallel_size == 1 {
            return Self { empty_s: 0.0, row_s: 0.0 };
        }
        let count = 2.0 * f64::from(config.model.layers);
        // A ring sends each byte 2 (n - 1) / n times.
        let bytes = 2.0 * f64::from(config.model.hidden) * 2.0 * (cards - 1.0) / cards;
        Self {
            empty_s: count * config.card.link_latency_us * 1e-6,
            row_s: count * bytes
                / (config.card.link_bytes_per_s * config.profile.constants.link_efficiency),
        }
    }

    /// Seconds for a step of this many rows.
    pub(super) fn seconds(&self, rows: f64) -> f64 {
        self.empty_s + rows * self.row_s
    }
}
