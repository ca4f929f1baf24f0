//! The resolved options of a comparison of two servers in alternating blocks: the part of a plan besides
//! its blocks.

use std::time::Duration;

use inferometer_metrics::slo::{JudgedMetric, Statistic};
use inferometer_metrics::{Direction, throughput};
use inferometer_model::time::optional_nanoseconds;
use serde::{Deserialize, Serialize};

/// The fewest pairs of blocks for a decision: with fewer, their variation is unknown.
pub const FEWEST_PAIRS: u32 = 8;

/// A comparison, as in the plan of each of the two servers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AbPlan {
    /// The figures that are compared; at least one. The first one decides when the comparison ends.
    pub figures: Vec<AbFigure>,
    /// The smallest relevant difference, as a share.
    pub minimal_effect: f64,
    /// The first requests of each block, which do not count.
    pub uncounted: u32,
    /// The most requests in total, over the blocks of both servers.
    pub max_requests: u64,
    /// The most time in total, over the blocks of both servers.
    #[serde(default, with = "optional_nanoseconds", skip_serializing_if = "Option::is_none")]
    pub max_time: Option<Duration>,
}

/// A figure of a block.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AbFigure {
    /// The metric.
    pub metric: JudgedMetric,
    /// Its statistic; only metrics with one value per request have one.
    pub statistic: Option<Statistic>,
}

impl AbFigure {
    /// Its name: `ttft_p50`, `output_tokens_per_s`.
    pub fn name(self) -> String {
        match self.statistic {
            Some(of) => format!("{}_{}", self.metric.name(), of.name()),
            None => self.metric.name().to_owned(),
        }
    }

    /// Whether more of it is better.
    pub fn higher_is_better(self) -> bool {
        self.metric.definition().direction == Some(Direction::Higher)
    }

    /// Whether blocks have it: rates of the answers, and statistics over requests.
    pub fn is_of_blocks(self) -> bool {
        let definition = self.metric.definition();
        let is_rate = [&throughput::REQUESTS, &throughput::OUTPUT_TOKENS].contains(&definition);
        (is_rate || self.statistic.is_some()) && definition.direction.is_some()
    }
}
