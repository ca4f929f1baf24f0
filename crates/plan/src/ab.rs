//! The resolved options of a comparison of two servers in alternating blocks. The load of a block is not one of the
//! options: it is stored as the only pass of the plan.

use std::time::Duration;

use inferometer_model::metrics::{Direction, throughput};
use inferometer_model::{Statistic, metrics::slo::JudgedMetric, time::optional_nanoseconds};
use serde::{Deserialize, Serialize};

/// The smallest number of pairs of blocks for a decision. With fewer pairs, the variation between pairs
/// cannot be estimated well enough.
pub const FEWEST_PAIRS: u32 = 8;

/// The options of a comparison. The plans of both servers contain the same options.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AbPlan {
    /// The figures that are compared; at least one. The first one decides when the comparison ends.
    pub figures: Vec<AbFigure>,
    /// The smallest relevant difference, as a share: 0.05 is 5 %.
    pub minimal_effect: f64,
    /// The number of requests at the start of each block that are not counted.
    pub uncounted: u32,
    /// The maximum number of requests in total, over the blocks of both servers.
    pub max_requests: u64,
    /// The maximum time in total, over the blocks of both servers.
    #[serde(default, with = "optional_nanoseconds", skip_serializing_if = "Option::is_none")]
    pub max_time: Option<Duration>,
}

/// A figure that is computed for each block.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AbFigure {
    /// The metric.
    pub metric: JudgedMetric,
    /// The statistic over the requests of a block; `None` for metrics without a value per request, such as
    /// a rate.
    pub statistic: Option<Statistic>,
}

impl AbFigure {
    /// The name of the figure, such as `ttft_p50` or `output_tokens_per_s`.
    pub fn name(self) -> String {
        match self.statistic {
            Some(of) => format!("{}_{}", self.metric.name(), of.name()),
            None => self.metric.name().to_owned(),
        }
    }

    /// Whether a higher value is better.
    pub fn higher_is_better(self) -> bool {
        self.metric.definition().direction == Some(Direction::Higher)
    }

    /// Whether the figure can be compared in blocks. It must be a rate of requests or of output tokens,
    /// or a statistic over requests. The metric must also state whether higher or lower is better.
    pub fn is_of_blocks(self) -> bool {
        let definition = self.metric.definition();
        let is_rate = [&throughput::REQUESTS, &throughput::OUTPUT_TOKENS].contains(&definition);
        (is_rate || self.statistic.is_some()) && definition.direction.is_some()
    }
}
