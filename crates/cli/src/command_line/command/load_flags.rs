//! The flags that say which load is measured or predicted, by the keys of a plan.

use clap::Args;
use serde::Serialize;

/// Each is the key of the same name.
#[derive(Args, Serialize)]
pub struct LoadFlags {
    /// Passes of each cell: table (one by one, then saturated), one_by_one, saturated
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', help_heading = "Load")]
    passes: Option<Vec<String>>,
    /// Requests of the one by one pass [default: 10]
    #[arg(long, value_name = "N", help_heading = "Load")]
    one_by_one: Option<u32>,
    /// Requests of every other pass [default: 399]
    #[arg(long, value_name = "N", help_heading = "Load")]
    requests: Option<u32>,
    /// Closed loops with this many in flight, instead of the table's passes; or stages, such as
    /// 60s@1..64 (a ramp) or 30s@2+30s@8 (held)
    #[arg(long, value_name = "N,...", value_delimiter = ',', help_heading = "Load")]
    concurrency: Option<Vec<String>>,
    /// Open loops with arrivals at these rates (requests/s, or inf), instead; or stages, such as
    /// 60s@1..20 (a ramp, 60s@1..20:exp an exponential one) or 30s@2+30s@8 (held)
    #[arg(long, value_name = "R,...", value_delimiter = ',', help_heading = "Load")]
    rate: Option<Vec<String>>,
    /// One open loop whose rate changes: 30s@2,30s@8
    #[arg(long, value_name = "TIME@RATE,...", help_heading = "Load")]
    stages: Option<String>,
    /// Arrivals at the instants of a file: one per line, in seconds
    #[arg(long, value_name = "FILE", help_heading = "Load")]
    replay: Option<String>,
    /// How much faster than they were recorded [default: 1]
    #[arg(long, value_name = "FACTOR", help_heading = "Load")]
    replay_speed: Option<String>,
    /// Shape of the gaps between arrivals: 1 is Poisson, below in bursts, inf at equal
    /// gaps [default: 1]
    #[arg(long, value_name = "SHAPE", help_heading = "Load")]
    burstiness: Option<String>,
    /// Leave the gaps between arrivals as they are drawn; else those of a pass (of stages: of each
    /// stage) are stretched, so that N requests at the rate R span N / R
    #[arg(long = "no-scale", num_args = 0, default_missing_value = "false", help_heading = "Load")]
    scale: Option<bool>,
    /// The most in flight in an open loop
    #[arg(long, value_name = "N", help_heading = "Load")]
    max_in_flight: Option<u32>,
    /// What happens to requests that are due beyond it: queue (the wait counts), drop [default: queue]
    #[arg(long, value_name = "queue|drop", help_heading = "Load")]
    over_limit: Option<String>,
    /// Time after which closed and open loops begin no further request
    #[arg(long, value_name = "TIME", help_heading = "Load")]
    duration: Option<String>,
}
