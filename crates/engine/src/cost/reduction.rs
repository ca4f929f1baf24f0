//! The time of transfers between cards. There are two reductions per layer between tensor-parallel cards, after
//! attention and after the MLP. Each pipeline stage sends the residual stream to the next. The speeds are those of the
//! link between the cards; transfers between stages are not calibrated.

use crate::ResolvedConfig;

/// The transfers of one step.
#[derive(Clone, Debug)]
pub(super) struct Reduction {
    empty_s: f64,
    row_s: f64,
}

impl Reduction {
    pub(super) fn new(config: &ResolvedConfig) -> Self {
        let cards = f64::from(config.tensor_parallel_size);
        let hidden = f64::from(config.model.hidden) * config.weights.bytes_per_activation();
        let link = config.card.link_bytes_per_s * config.profile.constants.link_efficiency;
        let latency_s = config.card.link_latency_us * 1e-6;
        let transfers = f64::from(config.pipeline_parallel_size - 1);
        let (empty_s, row_s) = (transfers * latency_s, transfers * hidden / link);
        if config.tensor_parallel_size == 1 {
            return Self { empty_s, row_s };
        }
        let count = 2.0 * f64::from(config.model.layers);
        // In a ring, each byte is sent 2 (n - 1) / n times.
        let bytes = 2.0 * hidden * (cards - 1.0) / cards;
        Self { empty_s: empty_s + count * latency_s, row_s: row_s + count * bytes / link }
    }

    /// Seconds for a step of this many rows.
    pub(super) fn seconds(&self, rows: f64) -> f64 {
        self.empty_s + rows * self.row_s
    }
}
