//! The flags for the load that is measured or predicted. Each flag is a key of a plan.

use clap::Args;
use serde::Serialize;

/// Each flag sets the plan key of the same name.
#[derive(Args, Serialize)]
pub struct LoadFlags {
    /// Passes of each cell (pair of input and output length): one_by_one (one request at a time),
    /// saturated (all requests at the start), or table (both). A pass is a measurement under one
    /// load [default: table, if no other load is given]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', help_heading = "Load")]
    passes: Option<Vec<String>>,
    /// Number of requests of the one_by_one pass [default: 10; 2 if neither a server, nor lengths,
    /// nor a load is given]
    #[arg(long, value_name = "N", help_heading = "Load")]
    one_by_one: Option<u32>,
    /// Number of requests of every pass except one_by_one [default: 399; 500 for blocks; 1000 for
    /// sharegpt without lengths; 32 if neither a server, nor lengths, nor a load is given]
    #[arg(long, value_name = "N", help_heading = "Load")]
    requests: Option<u32>,
    /// Closed loops with this many requests in flight, instead of --passes; or stages, such as
    /// 60s@1..64 (a ramp) or 30s@2+30s@8 (steps)
    #[arg(long, value_name = "N,...", value_delimiter = ',', help_heading = "Load")]
    concurrency: Option<Vec<String>>,
    /// Open loops with these arrival rates (requests/s, or inf), instead of --passes; or stages,
    /// such as 60s@1..20 (a linear ramp), 60s@1..20:exp (an exponential ramp) or 30s@2+30s@8
    /// (steps)
    #[arg(long, value_name = "R,...", value_delimiter = ',', help_heading = "Load")]
    rate: Option<Vec<String>>,
    /// One open loop with a changing rate: 30s@2,30s@8 is 2 requests/s for 30 s, then 8 requests/s
    /// for 30 s
    #[arg(long, value_name = "TIME@RATE,...", help_heading = "Load")]
    stages: Option<String>,
    /// Arrival times from a file, one per line, in seconds
    #[arg(long, value_name = "FILE", help_heading = "Load")]
    replay: Option<String>,
    /// Speed relative to the recorded times: 2 halves all gaps [default: 1]
    #[arg(long, value_name = "FACTOR", help_heading = "Load")]
    replay_speed: Option<String>,
    /// Gamma shape of the gaps between arrivals: 1 is Poisson, below 1 is burstier, inf gives equal
    /// gaps [default: 1]
    #[arg(long, value_name = "SHAPE", help_heading = "Load")]
    burstiness: Option<String>,
    /// Source of the random gaps between arrivals [default: vllm]:
    ///   vllm: the gaps of `vllm bench serve` with the same --seed (later repeats have other gaps)
    ///   inferometer: different gaps for each cell, rate and repeat
    #[arg(long, verbatim_doc_comment, value_name = "inferometer|vllm", help_heading = "Load")]
    arrivals: Option<String>,
    /// Do not scale the random gaps between arrivals. By default the gaps are scaled so that N
    /// arrivals at the rate R span exactly N / R seconds (with --stages, each stage is scaled
    /// separately)
    #[arg(long = "no-scale", num_args = 0, default_missing_value = "false", help_heading = "Load")]
    scale: Option<bool>,
    /// Maximum requests in flight in an open loop [default: no limit]
    #[arg(long, value_name = "N", help_heading = "Load")]
    max_in_flight: Option<u32>,
    /// What to do with a request that is due while --max-in-flight is reached [default: queue]:
    ///   queue: send it later; latencies from the due time include the wait
    ///   drop: do not send it
    #[arg(long, verbatim_doc_comment, value_name = "queue|drop", help_heading = "Load")]
    over_limit: Option<String>,
    /// Time after which a pass (closed or open loop) sends no further requests
    #[arg(long, value_name = "TIME", help_heading = "Load")]
    duration: Option<String>,
}
