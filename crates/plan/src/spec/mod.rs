//! A spec: what a person asked for, in a plan file or by flags, most of it left open. Resolving it
//! gives a [`crate::Plan`] with nothing left open, or every mistake at once.

mod ab;
mod addresses;
mod blocks;
mod conversation;
mod drawn;
pub(crate) mod levels;
pub mod limits;
mod mistakes;
mod observe;
mod rows;
mod search;
mod server;
mod serving;
mod sweep;
mod trace;
mod unix;
pub(crate) mod values;
mod variants;
mod workload;

use serde::{Deserialize, Serialize};

pub use ab::AbSpec;
pub use addresses::Addresses;
pub use blocks::BlockKeys;
pub use conversation::ConversationKeys;
pub use drawn::DrawnKeys;
pub use levels::{StageTable, Stages};
pub use limits::MAX_LENGTH;
pub use observe::ObserveKeys;
pub use rows::RowsKeys;
pub use search::SearchSpec;
pub use server::{CommandLine, ServerSpec};
pub use serving::ServingKeys;
pub use sweep::SweepSpec;
pub use trace::TraceKeys;
pub use values::{Value, shown as shown_address, span, url as parse_url};
pub use variants::{TargetSpec, Variant, variants};
pub use workload::{WorkloadKeys, workload_names};

pub(crate) use mistakes::Mistakes;
pub use mistakes::{SpecError, toml_mistake, without_texts};
pub(crate) use workload::Asked;

/// The keys of a plan file; the flags of `run` are the same with dashes. Everything is optional.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spec {
    /// Address of the server under test, or those of several equal ones; absent: the embedded engine.
    pub target: Option<Addresses>,
    /// Which of several servers gets the next request. A plan without it is written as it was before there
    /// were several; the same holds for the two below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balance: Option<String>,
    /// Name of a header in which each request states its session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_header: Option<String>,
    /// Name of a cookie in which each request states its session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_cookie: Option<String>,
    /// The server under test, where the run starts it itself.
    pub server: Option<ServerSpec>,
    /// Path of requests, if it is not the default path of the dialect.
    pub endpoint: Option<String>,
    /// Dialect by name, or `auto`.
    pub dialect: Option<String>,
    /// Name of the model on the server, or model of the embedded engine.
    pub model: Option<String>,
    /// Profile of the embedded engine.
    pub profile: Option<String>,
    /// Speed of the embedded engine relative to real time: 2 is twice as fast.
    pub speed: Option<Value>,
    /// How the steps of the embedded engine differ from their cost. A plan without it is written as it
    /// was before there was any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise: Option<String>,
    /// Tokenizer: a file, a folder or a hub id.
    pub tokenizer: Option<String>,
    /// Prompt lengths in tokens.
    pub input_lengths: Option<Vec<u32>>,
    /// Output lengths in tokens.
    pub output_lengths: Option<Vec<u32>>,
    /// Fit prompt and chat template together to the input length.
    pub count_template: Option<bool>,
    /// Send prompts as token ids.
    pub token_ids: Option<bool>,
    /// Empty the server's prefix cache before each pass.
    pub reset_prefix_cache: Option<bool>,
    /// Passes of each cell: `table`, `one_by_one`, `saturated`.
    pub passes: Option<Vec<String>>,
    /// Requests of the one by one pass.
    pub one_by_one: Option<u32>,
    /// Requests of every other pass.
    pub requests: Option<u32>,
    /// Closed loops with this many in flight, or stages of it.
    pub concurrency: Option<Vec<Value>>,
    /// Open loops at these rates, in requests/s, or stages of it.
    pub rate: Option<Vec<Value>>,
    /// One load in stages.
    pub stages: Option<Stages>,
    /// A file with the instants of arrivals.
    pub replay: Option<String>,
    /// How much faster than recorded.
    pub replay_speed: Option<Value>,
    /// The shape of the gaps between arrivals.
    pub burstiness: Option<Value>,
    /// Stretch the gaps between arrivals, so that as many requests as asked for come at the rate. A plan
    /// without it is written as it was before there was any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<bool>,
    /// Maximum requests in flight in an open loop [default: no limit].
    pub max_in_flight: Option<u32>,
    /// What happens to requests that are due beyond it: `queue`, `drop`.
    pub over_limit: Option<String>,
    /// Time after which a pass (closed or open loop) sends no further requests.
    pub duration: Option<Value>,
    /// What is sent before each cell and not reported: a number of requests, or a time.
    pub warmup: Option<Value>,
    /// Rest after each pass.
    pub cooldown: Option<Value>,
    /// How often each cell is measured.
    pub repeat: Option<u32>,
    /// Repeat until figures are known this well.
    pub until: Option<String>,
    /// The most repeats.
    pub max_repeats: Option<u32>,
    /// Look for the highest load that meets the objectives. A plan without one keeps the hash
    /// that it had before there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchSpec>,
    /// Make the load higher and higher until the server is saturated. A plan without one keeps its hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sweep: Option<SweepSpec>,
    /// Compare two servers in alternating blocks. A plan without it keeps the hash that it had before
    /// there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ab: Option<AbSpec>,
    /// Where prompts come from.
    #[serde(flatten)]
    pub workload: WorkloadKeys,
    /// The seed of every random choice.
    pub seed: Option<u64>,
    /// Keeps this run's prompts apart from every other's; absent: drawn anew.
    pub salt: Option<String>,
    /// Objectives judged on the run.
    pub slo: Option<String>,
    /// Objectives judged on each request.
    pub goodput: Option<String>,
    /// The most that one request may take.
    pub timeout: Option<Value>,
    /// The most that opening a connection may take.
    pub connect_timeout: Option<Value>,
    /// Time limit until the first token [default: none].
    pub first_token_timeout: Option<Value>,
    /// Time limit between two events of a stream [default: none].
    pub event_timeout: Option<Value>,
    /// End a pass at a rate as soon as requests arrive faster than the server completes them. A
    /// plan without it is written as it was before there was any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_when_saturated: Option<bool>,
    /// End a pass as soon as this share of its requests has failed. The same holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_at_error_rate: Option<Value>,
    /// Share of failed requests of a pass above which the run fails.
    pub max_failures: Option<Value>,
    /// Further headers, `Name: value`.
    pub header: Option<Vec<String>>,
    /// Further fields of the body.
    pub extra_body: Option<serde_json::Map<String, serde_json::Value>>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Ask the server to go on after end-of-text.
    pub ignore_eos: Option<bool>,
    /// Ask for streams.
    pub stream: Option<bool>,
    /// Name of the environment variable that holds the key.
    pub api_key_env: Option<String>,
    /// PEM file with additional certificate authorities to trust.
    pub ca_cert: Option<String>,
    /// Disable verification of the server's certificate.
    pub insecure: Option<bool>,
    /// PEM file with the client certificate (mutual TLS), optionally with its key. A plan without
    /// it is written as it was before there were such certificates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_cert: Option<String>,
    /// PEM file with the key of the client certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_key: Option<String>,
    /// The proxy that leads to the server, or `none`; absent: as the usual variables say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<String>,
    /// How long to wait for the target to become ready. A plan without it is written as it was
    /// before there was such waiting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait: Option<Value>,
    /// What is asked of the server and its cards while passes run.
    #[serde(flatten)]
    pub observe: ObserveKeys,
    /// Show latencies with each failed request as infinite too. It changes no request, and a plan
    /// without it is written as it was before there was such a key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failures_as_inf: Option<bool>,
    /// Event loops of the client; absent: as many as the load needs. They change no request, and a plan
    /// without the key is written as it was before there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loops: Option<u32>,
    /// The database.
    pub store: Option<String>,
    /// The folder for reports and plots.
    pub out: Option<String>,
    /// A file for the requests as they are sent.
    pub dump_workload: Option<String>,
}

/// The names that a spec may use and that other crates define.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// The names of the dialects.
    pub dialects: &'a [&'a str],
    /// The models of the embedded engine.
    pub models: &'a [&'a str],
}
