//! `[sweep]`: the increase of the load until the server is saturated, as the user writes it.

use clap::Args;
use serde::{Deserialize, Serialize};

use super::Value;

/// The keys of `[sweep]`. Everything is optional.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SweepSpec {
    /// Load that the sweep raises: concurrency (closed loops) or rate (open loops, with Poisson
    /// arrivals unless --burstiness sets another shape; only the first trial is a closed loop, with
    /// 1 request in flight) [default: concurrency]
    #[arg(long, value_name = "concurrency|rate", help_heading = "Sweep")]
    pub by: Option<String>,
    /// Share of the saturated throughput that defines the knee [default: 95%]
    #[arg(long, value_name = "SHARE", help_heading = "Sweep")]
    pub knee: Option<Value>,
    /// Confidence level of all intervals [default: 95%]
    #[arg(long, value_name = "SHARE", help_heading = "Sweep")]
    pub confidence: Option<Value>,
    /// The sweep ends when the confidence interval of the knee is at most this wide, as a share of
    /// its lower end [default: 25%; 5% with --by rate]
    #[arg(long, value_name = "SHARE", help_heading = "Sweep")]
    pub precision: Option<Value>,
    /// Highest concurrency to try [default: 1024]
    #[arg(long, value_name = "N", help_heading = "Sweep")]
    pub max_concurrency: Option<u32>,
    /// Highest rate to try (requests/s), with --by rate [default: no limit]
    #[arg(long, value_name = "RATE", help_heading = "Sweep")]
    pub max_rate: Option<Value>,
    /// Maximum number of requests of a cell, over all trials (measurements at one load) [default:
    /// 30000]
    #[arg(long, value_name = "N", help_heading = "Sweep")]
    pub max_requests: Option<u64>,
    /// Maximum number of trials of a cell [default: 40]
    #[arg(long, value_name = "N", help_heading = "Sweep")]
    pub max_trials: Option<u32>,
    /// Maximum time of a cell, such as 10m, including warm-up and pauses. Trials are made shorter
    /// so that they fit. A trial that is cut off by the limit counts if at least 5 of its requests
    /// completed [default: no limit]
    #[arg(long, value_name = "SPAN", help_heading = "Sweep")]
    pub max_time: Option<Value>,
    /// Number of cards of the server; the flag is that of [`super::PriceKeys`], which is meant if both are given.
    #[arg(skip)]
    pub gpus: Option<u32>,
}
