//! A spec: the values that a user gives in a plan file or by flags; most values may be absent. Resolving
//! a spec returns a [`crate::Plan`], in which all values are set. If the spec has mistakes, resolving it
//! returns all mistakes together.

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
use serde_json::{Map, Value as Json};

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

/// The keys of a plan file; the flags of `run` have the same names with dashes. Everything is optional. Newer fields
/// have `skip_serializing_if`, so an absent value of these fields is not serialized. Thus the hash of a plan, which
/// includes an empty spec, stays equal to the hash in versions without these fields.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spec {
    /// The mistakes in keys that could not be read, such as unknown keys. They are reported together with the
    /// mistakes in the values of the other keys.
    #[serde(skip)]
    pub unread: Vec<String>,
    /// Address of the server under test, or addresses of several equal servers. If absent, the target is the server
    /// that `server` starts; without `server`, the target is the embedded engine. The command line first fills an
    /// absent address from its settings, such as the variable `OPENAI_BASE_URL`.
    pub target: Option<Addresses>,
    /// Which of several servers gets the next request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balance: Option<String>,
    /// Name of a header in which each request states its session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_header: Option<String>,
    /// Name of a cookie in which each request states its session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_cookie: Option<String>,
    /// The name of the card (GPU) of the server, if the server does not state it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_card: Option<String>,
    /// The server under test, if the run starts it itself.
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
    /// Random variation of the embedded engine's step times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise: Option<String>,
    /// Tokenizer: a file, a folder or a hub id.
    pub tokenizer: Option<String>,
    /// Prompt lengths in tokens.
    pub input_lengths: Option<Vec<u32>>,
    /// Output lengths in tokens.
    pub output_lengths: Option<Vec<u32>>,
    /// Whether the input length includes the tokens of the chat template.
    pub count_template: Option<bool>,
    /// Whether prompts are sent as token ids.
    pub token_ids: Option<bool>,
    /// Whether the server's prefix cache is emptied before each pass.
    pub reset_prefix_cache: Option<bool>,
    /// Passes of each cell: `table`, `one_by_one`, `saturated`.
    pub passes: Option<Vec<String>>,
    /// The number of requests of the pass "one by one".
    pub one_by_one: Option<u32>,
    /// The number of requests of each other pass.
    pub requests: Option<u32>,
    /// Closed loops with these numbers of requests in flight. An element may also be a load in stages.
    pub concurrency: Option<Vec<Value>>,
    /// Open loops at these rates, in requests/s. An element may also be a load in stages.
    pub rate: Option<Vec<Value>>,
    /// One load in stages.
    pub stages: Option<Stages>,
    /// A file with arrival times.
    pub replay: Option<String>,
    /// The speed of a replay relative to the recording: 2 is twice as fast.
    pub replay_speed: Option<Value>,
    /// The shape of the gamma distribution of the gaps between arrivals: 1 is Poisson, `inf` is equal
    /// gaps.
    pub burstiness: Option<Value>,
    /// The random gaps between arrivals: `vllm` for those of `vllm bench serve` (the default), or
    /// `inferometer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<String>,
    /// Whether to scale the gaps between arrivals, so that the requested number of requests arrives at
    /// exactly the rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<bool>,
    /// Maximum requests in flight in an open loop [default: no limit].
    pub max_in_flight: Option<u32>,
    /// What happens to requests that are due while `max_in_flight` requests are in flight: `queue`, `drop`.
    pub over_limit: Option<String>,
    /// Time after which a pass (closed or open loop) sends no further requests.
    pub duration: Option<Value>,
    /// Unreported requests before each cell: a number of requests, or a time.
    pub warmup: Option<Value>,
    /// The pause between two passes.
    pub cooldown: Option<Value>,
    /// How many times each cell is measured.
    pub repeat: Option<u32>,
    /// The precision of figures until which cells are repeated, such as `ttft_p50±2%`.
    pub until: Option<String>,
    /// The maximum number of repeats, if cells are repeated until figures are precise enough.
    pub max_repeats: Option<u32>,
    /// Search for the highest load that meets the objectives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchSpec>,
    /// Increase the load until the server is saturated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sweep: Option<SweepSpec>,
    /// Compare two servers in alternating blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ab: Option<AbSpec>,
    /// The source of prompts.
    #[serde(flatten)]
    pub workload: WorkloadKeys,
    /// The seed of every random choice.
    pub seed: Option<u64>,
    /// A text that, together with the seed, determines the prompts. Runs with another salt have other prompts.
    /// Absent: a random text.
    pub salt: Option<String>,
    /// Objectives judged on the run.
    pub slo: Option<String>,
    /// Objectives judged on each request.
    pub goodput: Option<String>,
    /// The longest time of a request.
    pub timeout: Option<Value>,
    /// The longest time for opening a connection.
    pub connect_timeout: Option<Value>,
    /// Time limit until the first token [default: none].
    pub first_token_timeout: Option<Value>,
    /// Time limit between two events of a stream [default: none].
    pub event_timeout: Option<Value>,
    /// End a pass at a rate as soon as requests arrive faster than the server completes them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_when_saturated: Option<bool>,
    /// End a pass as soon as more than this share of its requests has failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_at_error_rate: Option<Value>,
    /// Share of failed requests of a pass above which the run fails.
    pub max_failures: Option<Value>,
    /// Additional headers, `Name: value`.
    pub header: Option<Vec<String>>,
    /// Additional fields of the body.
    pub extra_body: Option<Map<String, Json>>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Ask the server to continue after end-of-text.
    pub ignore_eos: Option<bool>,
    /// Ask the server to stream its answers.
    pub stream: Option<bool>,
    /// Name of the environment variable with the API key.
    pub api_key_env: Option<String>,
    /// PEM file with additional certificate authorities to trust.
    pub ca_cert: Option<String>,
    /// Disable verification of the server's certificate.
    pub insecure: Option<bool>,
    /// PEM file with the client certificate (mutual TLS), optionally with its key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_cert: Option<String>,
    /// PEM file with the key of the client certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_key: Option<String>,
    /// The proxy to the server, or `none`; absent: the usual environment variables select it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<String>,
    /// The longest time to wait until the target is ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait: Option<Value>,
    /// How the server and its cards are observed while passes run.
    #[serde(flatten)]
    pub observe: ObserveKeys,
    /// Also show latencies in which each failed request counts as infinite. This changes no request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failures_as_inf: Option<bool>,
    /// The number of the client's event loops; absent: a number that is sufficient for the load. This changes
    /// no request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loops: Option<u32>,
    /// The file of the store.
    pub store: Option<String>,
    /// The folder for reports and plots.
    pub out: Option<String>,
    /// The form of the plot files: `png`, `svg` or `none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plots: Option<String>,
    /// The file to which a copy of the requests is written.
    pub dump_workload: Option<String>,
}

impl Spec {
    /// Removes the server, and the keys for the connection to the server. Keeps the other keys about the server, such
    /// as `dialect`, `model` and `server_card`.
    #[must_use]
    pub fn without_server(self) -> Self {
        Self {
            target: None,
            server: None,
            header: None,
            api_key_env: None,
            ca_cert: None,
            insecure: None,
            client_cert: None,
            client_key: None,
            proxy: None,
            wait: None,
            ..self
        }
    }

    /// The keys of the spec and their values. A key without a value is null, or missing if it is one of the newer
    /// fields (see [`Spec`]).
    ///
    /// # Panics
    /// Never: every value of a spec can be written as JSON.
    pub fn keys(&self) -> Map<String, Json> {
        match serde_json::to_value(self) {
            Ok(Json::Object(keys)) => keys,
            other => unreachable!("invariant: a spec is an object: {other:?}"),
        }
    }

    /// A spec from its keys.
    ///
    /// # Errors
    /// If a value is of the wrong kind, or if a table such as `[search]` has an unknown key.
    pub fn from_keys(keys: Map<String, Json>) -> Result<Self, serde_json::Error> {
        serde_json::from_value(Json::Object(keys))
    }
}

/// The names that a spec may use and that other crates define.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// The names of the dialects.
    pub dialects: &'a [&'a str],
    /// The models of the embedded engine.
    pub models: &'a [&'a str],
    /// The model of the embedded engine with this hub id; `None` if there is none.
    pub model_of_hub_id: fn(&str) -> Option<&'static str>,
}
