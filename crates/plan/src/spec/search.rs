//! `[search]`: the search for the highest load that meets the objectives, as the user writes it.

use clap::Args;
use serde::{Deserialize, Serialize};

use super::Value;

/// The keys of `[search]`. Everything is optional.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SearchSpec {
    /// Load that the search varies: rate (arrivals in an open loop) or concurrency (a closed loop)
    /// [default: rate; concurrency, of jobs, with --workload agents]
    #[arg(long, value_name = "rate|concurrency", help_heading = "Search")]
    pub over: Option<String>,
    /// Share of requests that must meet all objectives of --goodput [default: 99%]
    #[arg(long, value_name = "SHARE", help_heading = "Search")]
    pub attainment: Option<Value>,
    /// Probability that the interval contains the highest load [default: 95%]
    #[arg(long, value_name = "SHARE", help_heading = "Search")]
    pub confidence: Option<Value>,
    /// The search ends when the confidence interval of the highest load is at most this wide, as a
    /// share of its lower end [default: 5%]
    #[arg(long, value_name = "SHARE", help_heading = "Search")]
    pub precision: Option<Value>,
    /// Lowest load to try [default: 0.001 requests/s, or 1/1000 of the first load if the first load
    /// is below 1 request/s; with --over concurrency, 1 request in flight]
    #[arg(long, value_name = "LOAD", help_heading = "Search")]
    pub from: Option<Value>,
    /// Highest load to try (requests/s, or requests in flight) [default: no limit]
    #[arg(long, value_name = "LOAD", help_heading = "Search")]
    pub to: Option<Value>,
    /// Load of the first trial [default: from the stored search or the prediction (see
    /// --bracket-from); otherwise --from, if you give it; otherwise 16 requests/s, or 8 requests in
    /// flight with --over concurrency; never above --to]
    #[arg(long, value_name = "LOAD", help_heading = "Search")]
    pub start: Option<Value>,
    /// Factor by which the first trials raise or lower the load, until one load meets the
    /// objectives and another misses them [default: 2, or 1.25 if the first load comes from a
    /// stored search or a prediction]
    #[arg(long, value_name = "FACTOR", help_heading = "Search")]
    pub stride: Option<Value>,
    /// Maximum number of requests of a cell, over all trials (measurements at one load); a search
    /// that ends at this limit may give an interval wider than --precision [default: 20000]
    #[arg(long, value_name = "N", help_heading = "Search")]
    pub max_requests: Option<u64>,
    /// Maximum number of trials of a cell [default: 40]
    #[arg(long, value_name = "N", help_heading = "Search")]
    pub max_trials: Option<u32>,
    /// Maximum time of a cell, such as 10m: warm-up, trials and pauses; a search that ends at this
    /// limit may give an interval wider than --precision [default: no limit]
    #[arg(long, value_name = "SPAN", help_heading = "Search")]
    pub max_time: Option<Value>,
    /// Additional set of objectives, such as --tier gold='ttft_p95<300ms' --tier
    /// bronze='ttft_p95<1s'; may be given several times. The search finds one highest load for each
    /// set, from the same trials. --slo and --goodput apply to each tier too
    #[arg(long, value_name = "NAME=SLO", help_heading = "Search")]
    pub tier: Option<Vec<String>>,
}
