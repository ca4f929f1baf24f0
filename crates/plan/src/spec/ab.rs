//! `[ab]`: the options of a comparison in alternating blocks, as the user writes them.

use clap::Args;
use serde::{Deserialize, Serialize};

use super::Value;

/// The keys of `[ab]`. Everything is optional.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AbSpec {
    /// Metrics to compare, such as output_tokens_per_s,ttft_p50; the first one decides when the
    /// comparison ends [default: output tokens/s (TTFT with --rate, E2E with one request in
    /// flight), then the medians of TTFT, TPOT and E2E]
    #[arg(long, value_delimiter = ',', value_name = "FIGURE,...", help_heading = "Comparison")]
    pub metric: Option<Vec<String>>,
    /// Smallest relevant difference [default: 5%]
    #[arg(long, value_name = "SHARE", help_heading = "Comparison")]
    pub minimal_effect: Option<Value>,
    /// Number of requests to leave out at the start of each block, before the server reaches its
    /// steady state [default: the concurrency, but 0 for one request in flight or all requests at
    /// the start; with --rate a quarter of the block]
    #[arg(long, value_name = "N", help_heading = "Comparison")]
    pub uncounted: Option<u32>,
    /// Maximum number of requests of all blocks of both servers; the number must be enough for 8
    /// pairs of blocks [default: 10000, or the requests of 40 pairs of blocks if these are more]
    #[arg(long, value_name = "N", help_heading = "Comparison")]
    pub max_requests: Option<u64>,
    /// Maximum time of the warm-up and of all blocks with the pauses between them, such as 10m; a
    /// block that is cut off by this limit is discarded [default: no limit]
    #[arg(long, value_name = "SPAN", help_heading = "Comparison")]
    pub max_time: Option<Value>,
}
