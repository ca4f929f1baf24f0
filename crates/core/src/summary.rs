//! The results of a run as a document: what `--json` prints and `summary.json` holds.
//!
//! These are types only; [`crate::fold`] computes them from records. The committed schema is
//! `schema/summary.schema.json`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::blocks::BlockFigures;
use crate::finding::Finding;
use crate::imported::Imported;
use crate::observed::{HardwareUse, ServerSays};
use crate::outcome::OutcomeCounts;
use crate::plan::{CellPlan, which};
use crate::prediction::{CellPrediction, ErrorSummary};
use crate::record::TokensFrom;
use crate::search::SearchAnswer;
use crate::serving_run::ServingRun;
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
    /// Where the results come from, if this program did not measure them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
    /// What a search found out, cell by cell; nothing where none was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub searches: Vec<SearchAnswer>,
    /// Absolute errors per column, of a prediction that is compared with what was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<BTreeMap<String, ErrorSummary>>,
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// What decides the clock of the processors (`performance`, `powersave`, ...).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// The cards of the machine on which the server runs, as far as they can be seen from here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cards: Vec<Card>,
    /// Where arrival stamps come from: `kernel` or `user`.
    pub stamps: Option<String>,
    /// The tokenizer that shaped the prompts.
    pub tokenizer: Option<String>,
    /// What keeps this run's prompts apart from every other's: give it again to repeat the run.
    #[serde(default)]
    pub salt: Option<String>,
}

/// A card, as its driver states it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// Which of the machine's cards.
    pub index: u32,
    /// `NVIDIA H200`, ...
    pub name: Option<String>,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Version of its driver.
    pub driver: Option<String>,
    /// Who says so: `nvml`, `dcgm`, `sysfs`.
    pub source: String,
}

/// One cell of the grid: an input length and an output length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Prompt tokens asked for; 0 where the requests of the workload have lengths of their own.
    pub input_length: u32,
    /// Output tokens asked for; 0 likewise.
    pub output_length: u32,
    /// Completed requests per second, from the pass that loads the server.
    pub requests_per_s: Option<f64>,
    /// Output tokens per second, from the pass that loads the server.
    pub output_tokens_per_s: Option<f64>,
    /// Mean of latency / (input + output tokens), from the one_by_one pass, else from that one.
    pub latency_per_token_ms: Option<f64>,
    /// Mean of latency / output tokens, from the one_by_one pass, else from that one.
    pub latency_per_output_token_ms: Option<f64>,
    /// The four figures over the repeats, of which they are the means; absent for one repeat.
    #[serde(default)]
    pub over_repeats: Option<CellSpread>,
    /// Every pass of the cell, in the order in which they were carried out.
    pub passes: Vec<PassSummary>,
    /// What a prediction says beside its figures; nothing where a server was measured.
    #[serde(flatten)]
    pub prediction: CellPrediction,
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
    /// The pass that the throughput of the cell comes from, of several repeats the first.
    #[must_use]
    pub fn loading(&self) -> Option<&PassSummary> {
        crate::fold::loading(&self.passes).first().copied()
    }

    /// The pass that the latencies of the cell come from, of several repeats the first: one by
    /// one, else that of the throughput.
    #[must_use]
    pub fn alone(&self) -> Option<&PassSummary> {
        crate::fold::alone(&self.passes).first().copied()
    }

    /// The cell of the plan.
    #[must_use]
    pub fn plan(&self) -> CellPlan {
        CellPlan { input_length: self.input_length, output_length: self.output_length }
    }

    /// How people call one of its passes: `128 x 32, one by one`.
    #[must_use]
    pub fn place(&self, pass: &PassSummary) -> String {
        format!("{}, {}", self.plan(), pass.label())
    }
}

impl PassSummary {
    /// Whether it is a trial of a search that was cut off, or that the user interrupted.
    #[must_use]
    pub fn is_cut_off(&self) -> bool {
        self.trial.is_some() && self.outcomes.cancelled + self.outcomes.skipped > 0
    }

    /// How people call it: its load, and which trial of a search, or which repeat from the second
    /// on, it is.
    #[must_use]
    pub fn label(&self) -> String {
        format!("{}{}", self.load, which(self.trial.is_some(), self.trial.unwrap_or(self.repeat)))
    }
}

/// The figures of one pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PassSummary {
    /// How it loaded the server.
    pub kind: PassKind,
    /// The same in the words of its load model; empty in results of a version without it.
    #[serde(default)]
    pub load: String,
    /// Which repeat of the cell's passes it is, from 1.
    #[serde(default = "first")]
    pub repeat: u32,
    /// Which trial of a search it is, from 1; absent for a pass that is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<u32>,
    /// Requests in flight that it asked for; closed passes with one level only.
    pub concurrency: Option<u32>,
    /// Requests per second that it asked for; open passes with one level only.
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
    /// The most requests in flight at any instant, from send to end; absent where no request is
    /// known by itself, as in most imported passes.
    pub peak_concurrency: Option<u64>,
    /// Requests in flight, averaged over `duration_s`.
    pub mean_concurrency: Option<f64>,
    /// The part of the pass at its plateau; absent where there was none, and for passes that ask
    /// for none.
    #[serde(default)]
    pub steady_state: Option<SteadyState>,
    /// Requests that met every objective on requests; absent where the plan has none.
    #[serde(default)]
    pub goodput: Option<Goodput>,
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
    /// Figures of each class of requests, where the workload has several.
    #[serde(default)]
    pub classes: Vec<ClassSummary>,
    /// The figures of the published text-block log; absent where the workload is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<BlockFigures>,
    /// The six figures of the published serving script; absent where the workload is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serving_run: Option<ServingRun>,
    /// What the server said of itself; absent where it was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerSays>,
    /// What the cards of the server's machine did; absent where none was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware: Option<HardwareUse>,
    /// The instrument's own error in this pass.
    pub instrument: Instrument,
}

/// The figures of the requests of one class within a pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassSummary {
    /// [`crate::request::Request::class`]
    pub class: String,
    /// Requests planned.
    pub planned: u64,
    /// What became of them.
    pub outcomes: OutcomeCounts,
    /// Completed requests per second, from the class's first send to its last end.
    #[serde(default)]
    pub requests_per_s: Option<f64>,
    /// Prompt tokens of the completed requests; absent where nobody counted one of them.
    pub input_tokens: Option<u64>,
    /// Output tokens of the completed requests.
    pub output_tokens: u64,
    /// First visible output after the send.
    pub ttft_ms: Option<Distribution>,
    /// Time per output token after the first event.
    pub tpot_ms: Option<Distribution>,
    /// Last token event after the send.
    pub e2e_ms: Option<Distribution>,
}

/// Results of versions without repeats are of the first.
fn first() -> u32 {
    1
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
    /// The same for TPOT; absent in logs of earlier versions, as the next two.
    #[serde(default)]
    pub tpot_bound_us: Option<Distribution>,
    /// Per gap between tokens: how far off it can be, per token.
    #[serde(default)]
    pub itl_bound_us: Option<Distribution>,
    /// Per completed request: how far off its E2E can be.
    #[serde(default)]
    pub e2e_bound_us: Option<Distribution>,
    /// Events that shared their read with a later token event.
    pub coalesced_events: u64,
    /// What no record shows; absent where nothing was measured, and in logs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Process>,
}

/// What the client's process went through during a pass. Times are whole microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// From the opening of connections to the last end.
    pub wall_us: u64,
    /// Processor time of the whole process in it, user and system.
    pub cpu_us: u64,
    /// Time that the event loop was at work, and not waiting.
    pub busy_us: u64,
    /// Median length of a turn of the event loop: while one goes on, nothing else is read or sent.
    pub turn_p50_us: u64,
    /// The 99th percentile.
    pub turn_p99_us: u64,
    /// The longest turn.
    pub turn_max_us: u64,
    /// Median time by which the event loop woke after the instant that it had asked for.
    pub wake_delay_p50_us: u64,
    /// The 99th percentile.
    pub wake_delay_p99_us: u64,
    /// The largest.
    pub wake_delay_max_us: u64,
    /// Turns and wake delays of 10 ms or more.
    pub stalls: u64,
    /// The time of all of them.
    pub stalled_us: u64,
    /// Time that the event loop was ready to run and had no processor; absent where the kernel
    /// keeps no account.
    pub waited_for_cpu_us: Option<u64>,
    /// Steps of the wall clock.
    pub clock_steps: u64,
    /// Stamps of the kernel that lay outside of what is possible, and were not used.
    pub implausible_stamps: u64,
    /// Reads whose stamps the kernel had no room to deliver.
    pub truncated_stamps: u64,
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
    /// 95th percentile; absent in results of a version that did not have it.
    #[serde(default)]
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: f64,
    /// 95 % order-statistic interval of the 99th percentile; absent below the sample size at
    /// which one exists.
    pub p99_ci: Option<[f64; 2]>,
    /// 99.9th percentile; absent in results of a version that did not have it.
    #[serde(default)]
    pub p999: Option<f64>,
    /// Largest value.
    pub max: f64,
    /// Number of values.
    pub n: u64,
    /// Whether percentiles are over the exact values. Where these were too many to be kept, they
    /// are those of a sketch, within [`crate::stats::RELATIVE_ERROR`] of the exact ones; mean,
    /// maximum and number are exact in any case.
    #[serde(default = "yes")]
    pub exact: bool,
}

/// Results of versions without a sketch are exact.
fn yes() -> bool {
    true
}

/// A figure over repeats of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Mean over the repeats.
    pub mean: f64,
    /// 95 % interval of the mean, of Student's t; absent for one repeat.
    pub ci: Option<[f64; 2]>,
    /// Coefficient of variation: standard deviation / mean; absent for one repeat.
    pub cv: Option<f64>,
    /// Repeats that have the figure.
    pub n: u64,
}

/// The figures of a cell over its repeats.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellSpread {
    /// Over [`Cell::requests_per_s`] of each repeat.
    pub requests_per_s: Option<Spread>,
    /// Over [`Cell::output_tokens_per_s`] of each repeat.
    pub output_tokens_per_s: Option<Spread>,
    /// Over [`Cell::latency_per_token_ms`] of each repeat.
    pub latency_per_token_ms: Option<Spread>,
    /// Over [`Cell::latency_per_output_token_ms`] of each repeat.
    pub latency_per_output_token_ms: Option<Spread>,
}

/// The part of a pass in which as many requests were in flight as its load holds: what lies
/// before it is start-up, what lies after it drain.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SteadyState {
    /// Requests in flight at the plateau.
    pub plateau: u64,
    /// From the first send of the pass to the plateau.
    pub startup_s: f64,
    /// The window.
    pub duration_s: f64,
    /// From the plateau to the last end of the pass.
    pub drain_s: f64,
    /// Requests that completed within the window, per second.
    pub requests_per_s: f64,
    /// Tokens of completed requests that came within the window, per second.
    pub output_tokens_per_s: f64,
    /// Tokens of completed requests that came before the window, per second.
    pub startup_output_tokens_per_s: Option<f64>,
    /// Tokens of completed requests that came after the window, per second.
    pub drain_output_tokens_per_s: Option<f64>,
    /// Requests in flight, averaged over the window.
    pub mean_concurrency: f64,
}

/// How many requests met the plan's objectives on requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Goodput {
    /// The objectives as they were written.
    pub objectives: String,
    /// Requests that completed and met all of them.
    pub met: u64,
    /// `met` per second over the duration of the pass.
    pub requests_per_s: Option<f64>,
    /// `met` / planned: failed and dropped requests count as not met.
    pub attainment: Option<f64>,
}
