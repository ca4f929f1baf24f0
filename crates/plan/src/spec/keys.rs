//! The keys of a plan file. Each of them is also a flag of the commands that take it: this definition makes both. The
//! comment of a key is the help text of its flag.

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::{
    AbSpec, Addresses, ClassSpec, MediaKeys, ObserveKeys, PoolingKeys, PriceKeys, SearchSpec,
    ServerSpec, Stages, SweepSpec, Value, WorkloadKeys,
};

/// The keys of a plan file; the flags have the same names with dashes. Everything is optional. The module `left_out`
/// lists the keys that a command does not take.
// Fields with `skip_serializing_if` are younger than stored specs that have no such key.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spec {
    /// The mistakes in keys that could not be read, such as unknown keys. They are reported together with the
    /// mistakes in the values of the other keys.
    #[serde(skip)]
    #[arg(skip)]
    pub unread: Vec<String>,
    /// Address of the server under test, or addresses of several equal servers. If absent, the target is the server
    /// that `server` starts; without `server`, the target is the embedded engine. The command line first fills an
    /// absent address from its settings, such as the variable `OPENAI_BASE_URL`.
    #[arg(skip)]
    pub target: Option<Addresses>,
    /// Which of several servers gets the next request: round-robin, least-in-flight, or session (all turns of a
    /// conversation, and prompts with the same prefix, go to one server) [default: round-robin]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "WAY", help_heading = "Target")]
    pub balance: Option<String>,
    /// Name of a request header that carries the session id, for a router with session affinity
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "NAME", help_heading = "Target")]
    pub session_header: Option<String>,
    /// Name of a request cookie that carries the session id, for a router with session affinity
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "NAME", help_heading = "Target")]
    pub session_cookie: Option<String>,
    /// Send a header `traceparent` with each request, so that it can be found in a tracer: `export` writes the
    /// identifier of its trace
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, num_args = 0, default_missing_value = "true", help_heading = "Target")]
    pub traceparent: Option<bool>,
    /// Card (GPU) of the server, such as h100-sxm, if the server does not state it. The card is
    /// recorded as stated by you. `calibrate` uses it. It is also used for the prediction that is
    /// printed with the results of `run`; this prediction needs a card that `inferometer list cards`
    /// lists; for another card, use `inferometer predict --card FILE`
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "NAME", help_heading = "Target")]
    pub server_card: Option<String>,
    /// The server under test, if the run starts it itself.
    #[arg(skip)]
    pub server: Option<ServerSpec>,
    /// Path of requests, if it is not the default path of the dialect
    #[arg(long, value_name = "PATH", help_heading = "Target")]
    pub endpoint: Option<String>,
    /// API of the server (`inferometer list dialects`); `auto` asks the server
    #[arg(long, value_name = "NAME", help_heading = "Target")]
    pub dialect: Option<String>,
    /// Name of the model on the server, or model of the embedded engine: by name, or the path of a
    /// config.json [default: the model of the server; chatglm3-6b for the embedded engine]
    #[arg(long, value_name = "NAME|FILE", help_heading = "Model")]
    pub model: Option<String>,
    /// Profile (fitted constants) of the embedded engine, by name or file [default: the profile of
    /// the model]
    #[arg(long, value_name = "NAME|FILE", help_heading = "Model")]
    pub profile: Option<String>,
    /// Speed of the embedded engine relative to real time: 2 is twice as fast
    #[arg(long, value_name = "FACTOR", help_heading = "Model")]
    pub speed: Option<Value>,
    /// Random variation of the embedded engine's step times [default: none]; comma-separated:
    ///   step=SD: each step varies separately by a factor; SD: standard deviation of its log
    ///   drift=SD:TIME: slow variation of all steps together; TIME: its correlation time
    ///   warmup=SHARE:TIME: steps are longer by SHARE at first; this decreases to 0 over TIME
    ///   burst=PROBABILITY:FACTOR: with this probability, a step takes FACTOR times as long
    ///   pause=TIME:EVERY: the engine stops for TIME, once per EVERY on average
    ///   seed=N: the seed [default: derived from --seed and --salt]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, verbatim_doc_comment, value_name = "PART,...", help_heading = "Model")]
    pub noise: Option<String>,
    /// Tokenizer: a tokenizer.json, a folder that contains one, or a Hugging Face id [default: the
    /// tokenizer of the server; for the embedded engine, a built-in one]
    #[arg(long, value_name = "PATH|ID", help_heading = "Workload")]
    pub tokenizer: Option<String>,
    /// Prompt lengths in tokens; 8k is 8192 [default: 128,512; `ab` takes one length: 256]
    #[arg(long, value_name = "N,...", value_delimiter = ',', help_heading = "Workload")]
    #[arg(value_parser = super::values::tokens)]
    pub input_lengths: Option<Vec<u32>>,
    /// Output lengths in tokens [default: 32,128; `ab` takes one length: 64]
    #[arg(long, value_name = "N,...", value_delimiter = ',', help_heading = "Workload")]
    #[arg(value_parser = super::values::tokens)]
    pub output_lengths: Option<Vec<u32>>,
    /// Count the chat template as part of the input length
    #[arg(long, num_args = 0, default_missing_value = "true", help_heading = "Workload")]
    pub count_template: Option<bool>,
    /// Send prompts as token ids, so that input lengths are exact
    #[arg(long, num_args = 0, default_missing_value = "true", help_heading = "Workload")]
    pub token_ids: Option<bool>,
    /// Reset the server's prefix cache before each pass, if the server supports it (vLLM, SGLang)
    #[arg(long, num_args = 0, default_missing_value = "true", help_heading = "Workload")]
    pub reset_prefix_cache: Option<bool>,
    /// Passes of each cell (pair of input and output length): one_by_one (one request at a time),
    /// saturated (all requests at the start), or table (both). A pass is a measurement under one
    /// load [default: table, if no other load is given]. A block of `ab` has one load
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', help_heading = "Load")]
    pub passes: Option<Vec<String>>,
    /// Number of requests of the one_by_one pass [default: 10; 2 if neither a server, nor lengths,
    /// nor a load is given; 1 in `ab`]
    #[arg(long, value_name = "N", help_heading = "Load")]
    pub one_by_one: Option<u32>,
    /// Number of requests of every pass except one_by_one [default: 399; 500 for blocks; 1000 for
    /// sharegpt without lengths; 32 if neither a server, nor lengths, nor a load is given]. In `ab`:
    /// of each block [default: 4 times the requests in flight, but 1 for one request in flight; 64
    /// with --rate or --passes saturated]
    #[arg(long, value_name = "N", help_heading = "Load")]
    pub requests: Option<u32>,
    /// Closed loops with this many requests in flight, instead of --passes; or stages, such as
    /// 60s@1..64 (a ramp) or 30s@2+30s@8 (steps). `ab` takes one number [default: 8]
    #[arg(long, value_name = "N,...", value_delimiter = ',', help_heading = "Load")]
    pub concurrency: Option<Vec<Value>>,
    /// Open loops with these arrival rates (requests/s, or inf), instead of --passes; or stages,
    /// such as 60s@1..20 (a linear ramp), 60s@1..20:exp (an exponential ramp) or 30s@2+30s@8
    /// (steps). `ab` takes one rate
    #[arg(long, value_name = "R,...", value_delimiter = ',', help_heading = "Load")]
    pub rate: Option<Vec<Value>>,
    /// One open loop with a changing rate: 30s@2,30s@8 is 2 requests/s for 30 s, then 8 requests/s
    /// for 30 s
    #[arg(long, value_name = "TIME@RATE,...", help_heading = "Load")]
    pub stages: Option<Stages>,
    /// Arrival times from a file, one per line, in seconds
    #[arg(long, value_name = "FILE", help_heading = "Load")]
    pub replay: Option<String>,
    /// Speed relative to the recorded times: 2 halves all gaps [default: 1]
    #[arg(long, value_name = "FACTOR", help_heading = "Load")]
    pub replay_speed: Option<Value>,
    /// Gamma shape of the gaps between arrivals: 1 is Poisson, below 1 is burstier, inf gives equal
    /// gaps [default: 1]
    #[arg(long, value_name = "SHAPE", help_heading = "Load")]
    pub burstiness: Option<Value>,
    /// A class of traffic beside others, in a plan file a table `[[class]]`: 'chat; rate=2; input=512; output=64'
    ///   rate=R, input=N, output=N: in the forms of --rate and --input-distribution
    ///   burstiness=SHAPE: of the gaps between its arrivals
    ///   body=JSON: fields of its requests, such as {"priority":1}, sent as they stand
    ///   goodput=OBJECTIVES: instead of --goodput
    ///   alone: a second pass measures the class alone
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, verbatim_doc_comment, value_name = "CLASS", help_heading = "Load")]
    pub class: Option<Vec<ClassSpec>>,
    /// Source of the random gaps between arrivals [default: vllm]:
    ///   vllm: the gaps of `vllm bench serve` with the same --seed (later repeats have other gaps)
    ///   inferometer: different gaps for each cell, rate and repeat
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, verbatim_doc_comment, value_name = "inferometer|vllm", help_heading = "Load")]
    pub arrivals: Option<String>,
    /// Do not scale the random gaps between arrivals. By default the gaps are scaled so that N
    /// arrivals at the rate R span exactly N / R seconds (with --stages, each stage is scaled
    /// separately)
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long = "no-scale", num_args = 0, default_missing_value = "false", help_heading = "Load")]
    pub scale: Option<bool>,
    /// Maximum requests in flight in an open loop [default: no limit]
    #[arg(long, value_name = "N", help_heading = "Load")]
    pub max_in_flight: Option<u32>,
    /// What to do with a request that is due while --max-in-flight is reached [default: queue]:
    ///   queue: send it later; latencies from the due time include the wait
    ///   drop: do not send it
    #[arg(long, verbatim_doc_comment, value_name = "queue|drop", help_heading = "Load")]
    pub over_limit: Option<String>,
    /// Maximum requests that have been sent and have no token yet; further ones wait, and latencies
    /// from the due time include the wait [default: no limit]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "N", help_heading = "Load")]
    pub max_in_prefill: Option<u32>,
    /// Clients that leave before their answer is complete, as a share of the requests [default: none]:
    ///   10%,after=20tok: close the connection after 20 output tokens
    ///   10%,after=500ms: 500 ms after the request was sent, whatever has arrived
    ///   10%,no-token=2s: 2 s after the request was sent, if no token has arrived
    /// With `,by=reset`, they reset the connection instead. Such requests are no failures
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, verbatim_doc_comment, value_name = "SHARE,WHEN", help_heading = "Load")]
    pub abandon: Option<String>,
    /// Time after which a pass (closed or open loop) sends no further requests
    #[arg(long, value_name = "TIME", help_heading = "Load")]
    pub duration: Option<Value>,
    /// Warm-up before each cell, which is not reported: a number of requests, or a time. Requests are
    /// sent one by one, unless a load follows: 10s@concurrency=8, 200@rate=4 or 50@rate=inf. A
    /// prediction simulates no warm-up, but skips its rows of a data set [default: 1]
    #[arg(long, value_name = "N|TIME[@LOAD]", help_heading = "Load")]
    pub warmup: Option<Value>,
    /// Pause between two passes, during which nothing is sent [default: none]
    #[arg(long, value_name = "TIME", help_heading = "Load")]
    pub cooldown: Option<Value>,
    /// Number of times that the passes of each cell are measured, each time with new prompts
    /// [default: 1]
    #[arg(long, value_name = "N", help_heading = "Load")]
    pub repeat: Option<u32>,
    /// Repeat passes until metrics have this precision, such as 'ttft_p50±2%' (or +-). Precision is
    /// half the width of the 95 % confidence interval over the repeats, relative to the mean
    #[arg(long, value_name = "FIGURE±SHARE,...", help_heading = "Load")]
    pub until: Option<String>,
    /// Maximum number of repeats with --until [default: 20]
    #[arg(long, value_name = "N", help_heading = "Load")]
    pub max_repeats: Option<u32>,
    /// Search for the highest load that meets the objectives.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(skip)]
    pub search: Option<SearchSpec>,
    /// Increase the load until the server is saturated.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(skip)]
    pub sweep: Option<SweepSpec>,
    /// Compare two servers in alternating blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(skip)]
    pub ab: Option<AbSpec>,
    /// The source of prompts.
    #[serde(flatten)]
    #[command(flatten)]
    pub workload: WorkloadKeys,
    /// Adapters (LoRA) that requests name as their model, with weights: sql:3,chat:1 or lora-{1..16}. With
    /// zipf=S, the weight of rank r is r^-S; with shift=N, ranks move on by one name after N requests
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "NAME:WEIGHT,...", help_heading = "Workload")]
    pub adapters: Option<String>,
    /// The inputs of requests without output tokens.
    #[serde(flatten)]
    #[command(flatten)]
    pub pooling: PoolingKeys,
    /// Pictures and sounds in requests.
    #[serde(flatten)]
    #[command(flatten)]
    pub media: MediaKeys,
    /// Seed of all random choices [default: 0]
    #[arg(long, value_name = "N", help_heading = "Workload")]
    pub seed: Option<u64>,
    /// Text that makes prompts of this run unique; give a run's salt to repeat (or predict) that run
    /// exactly [default: random]
    #[arg(long, value_name = "TEXT", help_heading = "Workload")]
    pub salt: Option<String>,
    /// Objectives on the statistics of each pass, such as 'ttft_p99<500ms,tpot_p99<50ms'; the exit
    /// code is 3 if one is missed. In a prediction, an objective is undecided if its limit is inside
    /// the range of the prediction, or if the prediction has no calibrated range
    #[arg(long, value_name = "OBJECTIVES", help_heading = "Limits")]
    pub slo: Option<String>,
    /// Objectives on each single request, such as 'ttft<500ms,tpot<50ms'
    #[arg(long, value_name = "OBJECTIVES", help_heading = "Limits")]
    pub goodput: Option<String>,
    /// Time limit of one request [default: 6h]
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    pub timeout: Option<Value>,
    /// Time limit for opening a connection [default: 10s]
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    pub connect_timeout: Option<Value>,
    /// Time limit until the first token [default: none]
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    pub first_token_timeout: Option<Value>,
    /// Time limit between two events of a stream [default: none]
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    pub event_timeout: Option<Value>,
    /// In an open loop with a constant, finite rate, end the pass as soon as it is certain that
    /// requests arrive faster than the server completes them. Requests in flight are cancelled, the
    /// remaining requests are not sent, and the exit code is 3
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, num_args = 0, default_missing_value = "true", help_heading = "Limits")]
    pub stop_when_saturated: Option<bool>,
    /// End a pass when more than this share of its planned requests has failed, such as 5%; the
    /// exit code is 1. If only --duration limits the pass, the share refers to the requests that have
    /// ended so far, but to at least 100 requests
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "SHARE", help_heading = "Limits")]
    pub stop_at_error_rate: Option<Value>,
    /// Highest tolerated share of failed requests in a pass (in `ab`, of all blocks of a side);
    /// above it the command fails with exit code 1 [default: 1%]. In `search`, an additional
    /// objective [default: 1% if all other objectives are means, otherwise none]
    #[arg(long, value_name = "SHARE", help_heading = "Limits")]
    pub max_failures: Option<Value>,
    /// Additional header of each request; may be given several times
    #[arg(long, value_name = "'NAME: VALUE'", help_heading = "Target")]
    pub header: Option<Vec<String>>,
    /// Additional fields of the request body, as a JSON object; they replace fields of the same
    /// name, and null removes a field
    #[arg(long, value_name = "JSON", value_parser = json_object, help_heading = "Workload")]
    pub extra_body: Option<Map<String, Json>>,
    /// Sampling temperature [default: 1]
    #[arg(long, value_name = "T", value_parser = super::values::finite, help_heading = "Workload")]
    pub temperature: Option<f64>,
    /// Let answers end at the end-of-text token: do not send `ignore_eos`. This is the default if
    /// --extra-body, or a row, asks for tools or for a form of the answer
    #[arg(
        long = "no-ignore-eos",
        num_args = 0,
        default_missing_value = "false",
        help_heading = "Workload"
    )]
    pub ignore_eos: Option<bool>,
    /// Request whole answers instead of streams
    #[arg(
        long = "no-stream",
        num_args = 0,
        default_missing_value = "false",
        help_heading = "Workload"
    )]
    pub stream: Option<bool>,
    /// Count reasoning that the server sends in the text of the answer, up to `</think>`, as reasoning:
    ///   tagged: if the text begins with `<think>`
    ///   opened: always, for a chat template that already ends with `<think>`
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, verbatim_doc_comment, value_name = "tagged|opened", help_heading = "Workload")]
    pub split_think: Option<String>,
    /// Environment variable that contains the API key [default: OPENAI_API_KEY]
    #[arg(long, value_name = "NAME", help_heading = "Target")]
    pub api_key_env: Option<String>,
    /// PEM file with additional certificate authorities to trust
    #[arg(long, value_name = "FILE", help_heading = "Target")]
    pub ca_cert: Option<String>,
    /// Disable verification of the server's certificate
    #[arg(long, num_args = 0, default_missing_value = "true", help_heading = "Target")]
    pub insecure: Option<bool>,
    /// PEM file with the client certificate (mutual TLS)
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "FILE", help_heading = "Target")]
    pub client_cert: Option<String>,
    /// PEM file with the key of the client certificate [default: the file of --client-cert]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "FILE", help_heading = "Target")]
    pub client_key: Option<String>,
    /// HTTP proxy to use, or `none` [default: from HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "URL|none", help_heading = "Target")]
    pub proxy: Option<String>,
    /// Wait up to this long until the server is ready: it accepts connections and lists its loaded
    /// model
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "TIME", help_heading = "Target")]
    pub wait: Option<Value>,
    /// How the server and its cards are observed while passes run.
    #[serde(flatten)]
    #[command(flatten)]
    pub observe: ObserveKeys,
    /// What the server's hardware costs.
    #[serde(flatten)]
    #[command(flatten)]
    pub price: PriceKeys,
    /// Also report percentiles of TTFT and E2E over all planned requests, in which each failed
    /// request counts as infinity
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, num_args = 0, default_missing_value = "true", help_heading = "Output")]
    pub failures_as_inf: Option<bool>,
    /// Number of event loops of the client, each on its own thread; connections and requests are
    /// split among them. Requests and their send times do not depend on this number [default: as
    /// many as the load needs, limited by the free cores]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "N", help_heading = "Load")]
    pub loops: Option<u32>,
    /// The database [default: inferometer.db]
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub store: Option<String>,
    /// Folder for reports and plots [default: inferometer-out/RUN]
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub out: Option<String>,
    /// Form of the plot files: png, svg or none [default: png]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[arg(long, value_name = "FORM", help_heading = "Output")]
    pub plots: Option<String>,
    /// Write all requests to a file; `--workload replay` sends them again
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub dump_workload: Option<String>,
}

fn json_object(text: &str) -> Result<Map<String, Json>, String> {
    match serde_json::from_str(text) {
        Ok(Json::Object(fields)) => Ok(fields),
        Ok(_) => Err("is not a JSON object".to_owned()),
        Err(error) => Err(format!("is not JSON: {error}")),
    }
}
