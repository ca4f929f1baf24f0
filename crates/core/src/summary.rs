//! The results of a run as a document: what `--json` prints and `summary.json` holds.
//!
//! These are types only; [`crate::fold`] computes them from records. The committed schema is
//! `schema/summary.schema.json`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::finding::Finding;
use crate::outcome::OutcomeCounts;
use crate::record::TokensFrom;
use crate::verdict::Verdict;

/// The name and version of the document.
pub const SUMMARY_SCHEMA: &str = "inferometer.summary/1";

/// The results of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// [`SUMMARY_SCHEMA`].
    pub schema: String,
    /// The program that made it.
    pub tool: Tool,
    /// The run's identity in the store.
    pub run_id: String,
    /// When the run began, RFC 3339, UTC.
    pub started_at: String,
    /// SHA-256 over the resolved plan.
    pub plan_hash: String,
    /// SHA-256 over the canonical requests.
    pub workload_hash: String,
    /// SHA-256 over the bytes that the dialect made of them.
    pub body_hash: String,
    /// True when no server was measured: every figure is a model's.
    pub predicted: bool,
    /// What was measured.
    pub target: Target,
    /// Where it was measured.
    pub environment: Environment,
    /// Can it be trusted, and were the objectives met.
    pub verdict: Verdict,
    /// What a reader must know before using the figures.
    pub findings: Vec<Finding>,
    /// The grid.
    pub cells: Vec<Cell>,
}

/// A program and its version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// Always `inferometer`.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// The server under test, as it states itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Address, without credentials.
    pub url: String,
    /// The dialect that was spoken.
    pub dialect: String,
    /// Engine, such as `vllm`.
    pub engine: Option<String>,
    /// Its version.
    pub engine_version: Option<String>,
    /// The model, as the server knows it.
    pub model: String,
    /// True for the embedded engine.
    pub simulated: bool,
    /// The embedded engine's profile.
    pub profile: Option<String>,
    /// Further facts that the server stated (`max_model_len`, dtype, ...) or the embedded
    /// engine was started with.
    pub facts: BTreeMap<String, String>,
}

/// The machine and the tools of the measurement. Values are what was found; absent is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// Host name.
    pub host: Option<String>,
    /// Processor model.
    pub cpu: Option<String>,
    /// Logical processors that the client may use.
    pub cpus: Option<u32>,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Operating system and kernel release.
    pub kernel: Option<String>,
    /// Where arrival stamps come from: `kernel` or `user`.
    pub stamps: Option<String>,
    /// The tokenizer that shaped the prompts.
    pub tokenizer: Option<String>,
}

/// One cell of the grid: an input length and an output length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Prompt tokens asked for.
    pub input_length: u32,
    /// Output tokens asked for.
    pub output_length: u32,
    /// Completed requests per second, from the pass that loads the server.
    pub requests_per_s: Option<f64>,
    /// Output tokens per second, from the pass that loads the server.
    pub output_tokens_per_s: Option<f64>,
    /// Mean of latency / (input + output tokens), from the one_by_one pass, else from that one.
    pub latency_per_token_ms: Option<f64>,
    /// Mean of latency / output tokens, from the one_by_one pass, else from that one.
    pub latency_per_output_token_ms: Option<f64>,
    /// Every pass of the cell, in the order in which they were carried out.
    pub passes: Vec<PassSummary>,
}

/// How a pass loads the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PassKind {
    /// One request at a time, nothing else in flight.
    OneByOne,
    /// All requests due at once.
    Saturated,
    /// A fixed number in flight: each end starts the next.
    Closed,
    /// Arrivals at a rate, whatever the server does.
    Open,
}

impl PassKind {
    /// The name in results: `one_by_one`, ...
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::OneByOne => "one_by_one",
            Self::Saturated => "saturated",
            Self::Closed => "closed",
            Self::Open => "open",
        }
    }
}

impl Cell {
    /// How people call one of its passes: `128 x 32, one by one`.
    #[must_use]
    pub fn place(&self, pass: &PassSummary) -> String {
        let Self { input_length, output_length, .. } = self;
        format!("{input_length} x {output_length}, {}", pass.label())
    }
}

impl PassSummary {
    /// How people call it, in the words of [`crate::plan::PassPlan`].
    #[must_use]
    pub fn label(&self) -> String {
        match (self.kind, self.concurrency, self.rate) {
            (PassKind::Closed, Some(concurrency), _) => {
                format!("closed loop, {concurrency} in flight")
            }
            (PassKind::Open, _, Some(rate)) => format!("open loop, {rate} requests/s"),
            (kind, ..) => kind.name().replace('_', " "),
        }
    }
}

/// The figures of one pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PassSummary {
    /// How it loaded the server.
    pub kind: PassKind,
    /// Requests in flight that it asked for; closed passes only.
    pub concurrency: Option<u32>,
    /// Requests per second that it asked for; open passes only.
    pub rate: Option<f64>,
    /// Requests planned.
    pub planned: u64,
    /// What became of them.
    pub outcomes: OutcomeCounts,
    /// From the first send to the last end.
    pub duration_s: Option<f64>,
    /// Completed requests per second over `duration_s`.
    pub requests_per_s: Option<f64>,
    /// Prompt tokens of the completed requests.
    pub input_tokens: u64,
    /// Output tokens of the completed requests.
    pub output_tokens: u64,
    /// `output_tokens` per second over `duration_s`.
    pub output_tokens_per_s: Option<f64>,
    /// Where the counts of output tokens come from; the weakest source of any request.
    pub tokens_from: Option<TokensFrom>,
    /// The most requests in flight at any instant, from send to end.
    pub peak_concurrency: u64,
    /// Requests in flight, averaged over `duration_s`.
    pub mean_concurrency: Option<f64>,
    /// First visible output after the send.
    pub ttft_ms: Option<Distribution>,
    /// Time per output token after the first event.
    pub tpot_ms: Option<Distribution>,
    /// Gaps between tokens, pooled over tokens.
    pub itl_ms: Option<Distribution>,
    /// Last token event after the send.
    pub e2e_ms: Option<Distribution>,
    /// First visible output after the due time.
    pub ttft_from_due_ms: Option<Distribution>,
    /// Last token event after the due time.
    pub e2e_from_due_ms: Option<Distribution>,
    /// Send after the due time: the client's own share.
    pub send_delay_ms: Option<Distribution>,
    /// Latency / (input + output tokens).
    pub latency_per_token_ms: Option<Distribution>,
    /// Latency / output tokens.
    pub latency_per_output_token_ms: Option<Distribution>,
    /// The instrument's own error in this pass.
    pub instrument: Instrument,
}

/// The instrument's own error: what it adds to the figures above it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Instrument {
    /// Socket reads with data.
    pub reads: u64,
    /// Reads that bore the kernel's stamp.
    pub kernel_stamped_reads: u64,
    /// The program's stamp after the kernel's.
    pub receive_lateness_us: Option<Distribution>,
    /// Width of the interval in which an event may have arrived.
    pub arrival_width_us: Option<Distribution>,
    /// Per completed request: how far from the truth the client can be with its TTFT.
    pub ttft_bound_us: Option<Distribution>,
    /// Events that shared their read with a later token event.
    pub coalesced_events: u64,
}

/// A distribution, with intervals on what is quoted most.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// Arithmetic mean.
    pub mean: f64,
    /// 95 % bootstrap interval of the mean.
    pub mean_ci: Option<[f64; 2]>,
    /// Median, by linear interpolation.
    pub p50: f64,
    /// 95 % order-statistic interval of the median.
    pub p50_ci: Option<[f64; 2]>,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 95 % order-statistic interval of the 99th percentile; absent below the sample size at
    /// which one exists.
    pub p99_ci: Option<[f64; 2]>,
    /// Largest value.
    pub max: f64,
    /// Number of values.
    pub n: u64,
}
