//! The flags of `run`, which `search`, `sweep` and `ab` also have, and their conversion to keys of a plan.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use inferometer_run::Strictness;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::load_flags::LoadFlags;
use super::ranks::RankFlags;
use super::workload_flags::WorkloadFlags;
use crate::command_line::exit::Failure;
use crate::command_line::prometheus;
use crate::command_line::terminal::View;

/// The flags of `run`. Those that describe the measurement are keys of a plan file, with underscores.
#[derive(Args)]
pub struct RunArgs {
    /// A plan file (TOML); flags override its keys. Its [[target]] tables name servers to compare:
    /// all of them get the same requests
    plan: Option<PathBuf>,
    #[command(flatten)]
    spec: SpecArgs,
    /// Let answers end at the end-of-text token: do not send `ignore_eos`
    #[arg(long, help_heading = "Workload")]
    no_ignore_eos: bool,
    /// Request whole answers instead of streams
    #[arg(long, help_heading = "Workload")]
    no_stream: bool,
    /// Do not read the server's metrics during passes
    #[arg(long, help_heading = "Target")]
    no_server_metrics: bool,
    /// Additional fields of the request body, as a JSON object; they replace fields of the same
    /// name
    #[arg(long, value_name = "JSON", help_heading = "Workload")]
    extra_body: Option<String>,
    /// Resume an interrupted run: copy its completed cells (pairs of input and output length) into
    /// a new run, and measure the remaining cells. For a search or a sweep: copy its completed
    /// trials into a new run, and continue with the cells that are not finished. A plan with several
    /// servers makes a group of runs: to resume a group, give the plan file and the name of the
    /// group
    #[arg(long, value_name = "RUN|GROUP")]
    pub resume: Option<String>,
    /// Print the resolved plan, its hash, and its estimated time and memory; send nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Print one JSON document on stdout, and nothing else
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Write a JUnit XML file with one test case for each pass and objective (--slo), and one for
    /// each answer of a search; a test case passes if the objective is met
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub junit: Option<PathBuf>,
    /// Print less on stderr: only errors, warnings, the verdict on objectives (such as PASS), and
    /// the port that --metrics-listen 0 has chosen
    #[arg(long, short, help_heading = "Output")]
    pub quiet: bool,
    /// Do not show progress bars
    #[arg(long, help_heading = "Output")]
    no_progress: bool,
    /// Show the run in progress on the full screen: throughput, latencies, failures, server
    /// metrics. The measurement does not change
    #[arg(long, conflicts_with_all = ["quiet", "no_progress"], help_heading = "Output")]
    pub tui: bool,
    /// Serve metrics of the run in progress for Prometheus (GET /metrics) at this address
    /// (IP:PORT), or at this port of 127.0.0.1; port 0 chooses a free port. The measurement does
    /// not change
    #[arg(long, value_name = "ADDRESS", value_parser = prometheus::address, help_heading = "Output")]
    pub metrics_listen: Option<SocketAddr>,
    /// Start without confirmation. By default, a run of more than ten minutes must be confirmed if
    /// a terminal is attached. With --quiet, or with several servers or rounds of a plan, no
    /// confirmation is needed
    #[arg(long, short)]
    yes: bool,
    /// Exit with code 4 if the run is suspect (for example, some of its figures cannot be trusted),
    /// or if the answer of a search is undecided
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    pub ranks: RankFlags,
}

/// The flags that are keys of a plan, by the same names.
#[derive(Args, Serialize)]
struct SpecArgs {
    /// Server under test, such as http://127.0.0.1:8000 or unix:/path/to.sock. May be given several
    /// times, for identical servers (replicas): the requests of one load are distributed over them
    /// [default: OPENAI_BASE_URL, else the embedded engine]
    #[arg(long, value_name = "URL", help_heading = "Target")]
    #[serde(serialize_with = "first_of_targets")]
    target: Option<Vec<String>>,
    /// Which of several servers gets the next request: round-robin, least-in-flight, or session (all turns of a
    /// conversation, and prompts with the same prefix, go to one server) [default: round-robin]
    #[arg(long, value_name = "WAY", help_heading = "Target")]
    balance: Option<String>,
    /// Name of a request header that carries the session id, for a router with session affinity
    #[arg(long, value_name = "NAME", help_heading = "Target")]
    session_header: Option<String>,
    /// Name of a request cookie that carries the session id, for a router with session affinity
    #[arg(long, value_name = "NAME", help_heading = "Target")]
    session_cookie: Option<String>,
    /// API of the server (`inferometer list dialects`); `auto` asks the server
    #[arg(long, value_name = "NAME", help_heading = "Target")]
    dialect: Option<String>,
    /// Path of requests, if it is not the default path of the dialect
    #[arg(long, value_name = "PATH", help_heading = "Target")]
    endpoint: Option<String>,
    /// Name of the model on the server, or model of the embedded engine
    #[arg(long, value_name = "NAME", help_heading = "Target")]
    model: Option<String>,
    /// Profile (fitted constants) of the embedded engine, by name or file
    #[arg(long, value_name = "NAME|FILE", help_heading = "Target")]
    profile: Option<String>,
    /// Speed of the embedded engine relative to real time: 2 is twice as fast
    #[arg(long, value_name = "FACTOR", help_heading = "Target")]
    speed: Option<String>,
    /// Random variation of the embedded engine's step times [default: none]; comma-separated:
    ///   step=SD: each step varies separately by a factor; SD: standard deviation of its log
    ///   drift=SD:TIME: slow variation of all steps together; TIME: its correlation time
    ///   warmup=SHARE:TIME: steps are longer by SHARE at first; this decreases to 0 over TIME
    ///   burst=PROBABILITY:FACTOR: with this probability, a step takes FACTOR times as long
    ///   pause=TIME:EVERY: the engine stops for TIME, once per EVERY on average
    ///   seed=N: the seed [default: derived from --seed and --salt]
    #[arg(long, verbatim_doc_comment, value_name = "PART,...", help_heading = "Target")]
    noise: Option<String>,
    /// Additional header of each request; may be given several times
    #[arg(long, value_name = "'NAME: VALUE'", help_heading = "Target")]
    header: Option<Vec<String>>,
    /// URL of the server's metrics, or their path on the server. For several pools, such as prefill
    /// and decode, give the flag once for each pool [default: /metrics, if the server has it]
    #[arg(long, value_name = "URL|PATH", help_heading = "Target")]
    metrics_url: Option<Vec<String>>,
    /// Interval at which the metrics of the server and its cards (GPUs) are read [default: 1s]
    #[arg(long, value_name = "TIME", help_heading = "Target")]
    metrics_period: Option<String>,
    /// DCGM exporter on the server's machine, such as http://HOST:9400, for clocks, power and
    /// energy
    #[arg(long, value_name = "URL", help_heading = "Target")]
    dcgm_url: Option<String>,
    /// Indices of the cards that the server uses, such as 0,1; the metrics of other cards are not
    /// read. Without this flag, energy per token and per request are not reported
    #[arg(long, value_name = "N,...", value_delimiter = ',', help_heading = "Target")]
    cards: Option<Vec<u32>>,
    /// Card (GPU) of the server, such as h100-sxm, if the server does not state it. The card is
    /// recorded as stated by you. `calibrate` uses it. It is also used for the prediction that is
    /// printed with the results; this prediction needs a card that `inferometer list cards` lists;
    /// for another card, use `inferometer predict --card FILE`
    #[arg(long, value_name = "NAME", help_heading = "Target")]
    server_card: Option<String>,
    /// Environment variable that contains the API key [default: OPENAI_API_KEY]
    #[arg(long, value_name = "NAME", help_heading = "Target")]
    api_key_env: Option<String>,
    /// PEM file with additional certificate authorities to trust
    #[arg(long, value_name = "FILE", help_heading = "Target")]
    ca_cert: Option<String>,
    /// Disable verification of the server's certificate
    #[arg(long, num_args = 0, default_missing_value = "true", help_heading = "Target")]
    insecure: Option<bool>,
    /// PEM file with the client certificate (mutual TLS)
    #[arg(long, value_name = "FILE", help_heading = "Target")]
    client_cert: Option<String>,
    /// PEM file with the key of the client certificate [default: the file of --client-cert]
    #[arg(long, value_name = "FILE", help_heading = "Target")]
    client_key: Option<String>,
    /// HTTP proxy to use, or `none` [default: from HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY]
    #[arg(long, value_name = "URL|none", help_heading = "Target")]
    proxy: Option<String>,
    /// Wait up to this long until the server is ready: it accepts connections and lists its loaded
    /// model
    #[arg(long, value_name = "TIME", help_heading = "Target")]
    wait: Option<String>,
    /// Tokenizer: a tokenizer.json, a folder that contains one, or a Hugging Face id [default: the
    /// tokenizer of the server]
    #[arg(long, value_name = "PATH|ID", help_heading = "Workload")]
    tokenizer: Option<String>,
    #[command(flatten)]
    #[serde(flatten)]
    workload: WorkloadFlags,
    /// Prompt lengths in tokens [default: 128,512]
    #[arg(long, value_name = "N,...", value_delimiter = ',', help_heading = "Workload")]
    input_lengths: Option<Vec<u32>>,
    /// Output lengths in tokens [default: 32,128]
    #[arg(long, value_name = "N,...", value_delimiter = ',', help_heading = "Workload")]
    output_lengths: Option<Vec<u32>>,
    /// Count the chat template as part of the input length
    #[arg(long, num_args = 0, default_missing_value = "true", help_heading = "Workload")]
    count_template: Option<bool>,
    /// Send prompts as token ids, so that input lengths are exact
    #[arg(long, num_args = 0, default_missing_value = "true", help_heading = "Workload")]
    token_ids: Option<bool>,
    /// Sampling temperature [default: 1]
    #[arg(long, value_parser = super::number::finite, value_name = "T", help_heading = "Workload")]
    temperature: Option<f64>,
    /// Seed of all random choices [default: 0]
    #[arg(long, value_name = "N", help_heading = "Workload")]
    seed: Option<u64>,
    /// Text that makes prompts of this run unique; give a run's salt to repeat that run exactly
    /// [default: random]
    #[arg(long, value_name = "TEXT", help_heading = "Workload")]
    salt: Option<String>,
    #[command(flatten)]
    #[serde(flatten)]
    load: LoadFlags,
    /// Warm-up before each cell, sent one by one and not reported: a number of requests, or a time
    /// [default: 1]
    #[arg(long, value_name = "N|TIME", help_heading = "Load")]
    warmup: Option<String>,
    /// Pause between two passes, during which nothing is sent [default: none]
    #[arg(long, value_name = "TIME", help_heading = "Load")]
    cooldown: Option<String>,
    /// Number of times that the passes of each cell are measured, each time with new prompts
    /// [default: 1]
    #[arg(long, value_name = "N", help_heading = "Load")]
    repeat: Option<u32>,
    /// Repeat passes until metrics have this precision, such as 'ttft_p50±2%' (or +-). Precision is
    /// half the width of the 95 % confidence interval over the repeats, relative to the mean
    #[arg(long, value_name = "FIGURE±SHARE,...", help_heading = "Load")]
    until: Option<String>,
    /// Maximum number of repeats with --until [default: 20]
    #[arg(long, value_name = "N", help_heading = "Load")]
    max_repeats: Option<u32>,
    /// Number of event loops of the client, each on its own thread; connections and requests are
    /// split among them. Requests and their send times do not depend on this number [default: as
    /// many as the load needs, limited by the free cores]
    #[arg(long, value_name = "N", help_heading = "Load")]
    loops: Option<u32>,
    /// Time limit of one request [default: 6h]
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    timeout: Option<String>,
    /// Time limit for opening a connection [default: 10s]
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    connect_timeout: Option<String>,
    /// Time limit until the first token [default: none]
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    first_token_timeout: Option<String>,
    /// Time limit between two events of a stream [default: none]
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    event_timeout: Option<String>,
    /// In an open loop with a constant, finite rate, end the pass as soon as it is certain that
    /// requests arrive faster than the server completes them. Requests in flight are cancelled, the
    /// remaining requests are not sent, and the exit code is 3
    #[arg(long, help_heading = "Limits")]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stop_when_saturated: bool,
    /// End a pass when more than this share of its planned requests has failed, such as 5%; the
    /// exit code is 1. If only --duration limits the pass, the share refers to the requests that have
    /// ended so far, but to at least 100 requests
    #[arg(long, value_name = "SHARE", help_heading = "Limits")]
    stop_at_error_rate: Option<String>,
    /// Highest tolerated share of failed requests in a pass; above it the run fails with exit code
    /// 1 [default: 1%]
    #[arg(long, value_name = "SHARE", help_heading = "Limits")]
    max_failures: Option<String>,
    /// Objectives on the statistics of each pass, such as 'ttft_p99<500ms,tpot_p99<50ms'
    #[arg(long, value_name = "OBJECTIVES", help_heading = "Limits")]
    slo: Option<String>,
    /// Objectives on each single request, such as 'ttft<500ms,tpot<50ms'
    #[arg(long, value_name = "OBJECTIVES", help_heading = "Limits")]
    goodput: Option<String>,
    /// Also report percentiles of TTFT and E2E over all planned requests, in which each failed
    /// request counts as infinity
    #[arg(long, num_args = 0, default_missing_value = "true", help_heading = "Output")]
    failures_as_inf: Option<bool>,
    /// The database [default: inferometer.db]
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    store: Option<String>,
    /// Folder for reports and plots [default: inferometer-out/RUN]
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    out: Option<String>,
    /// Form of the plot files: png, svg or none [default: png]
    #[arg(long, value_name = "FORM", help_heading = "Output")]
    plots: Option<String>,
}

/// Serializes only the first target. [`RunArgs::targets`] returns all targets: `run` spreads one load over them, and
/// `ab` compares them.
fn first_of_targets<S: Serializer>(
    targets: &Option<Vec<String>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    targets.iter().flatten().next().serialize(serializer)
}

/// The given flags as a JSON object, by their names with underscores. Absent flags are left out.
pub fn given(flags: &impl Serialize) -> Result<Map<String, Value>, Failure> {
    let Ok(Value::Object(mut keys)) = serde_json::to_value(flags) else {
        return Err(Failure::usage("the flags cannot be read"));
    };
    keys.retain(|_, value| !value.is_null());
    Ok(keys)
}

impl RunArgs {
    /// The plan file, if one was given.
    pub fn plan(&self) -> Option<&Path> {
        self.plan.as_deref()
    }

    /// Takes flags that are not keys of a plan from `lower`, if they are absent here. A flag of `lower` is ignored if
    /// it contradicts a given flag.
    pub fn fill_from(&mut self, lower: &Self) {
        let (shows_all, shows_less) = (self.tui, self.quiet || self.no_progress);
        self.tui |= lower.tui && !shows_less;
        self.quiet |= lower.quiet && !shows_all;
        self.no_progress |= lower.no_progress && !shows_all;
        self.json |= lower.json;
        self.yes |= lower.yes;
        self.strict |= lower.strict;
        self.ranks.fill_from(&lower.ranks);
        self.dry_run |= lower.dry_run;
        self.metrics_listen = self.metrics_listen.or(lower.metrics_listen);
        if self.resume.is_none() {
            self.resume.clone_from(&lower.resume);
        }
        if self.junit.is_none() {
            self.junit.clone_from(&lower.junit);
        }
    }

    /// How the run is shown on the terminal, and whether to ask for confirmation.
    pub fn view(&self) -> View {
        View {
            quiet: self.quiet,
            progress: !self.no_progress && !self.quiet && !self.tui,
            tui: self.tui,
            ask: !self.yes && !self.quiet,
        }
    }

    /// Whether a suspect run is a failure (`--strict`).
    pub fn strictness(&self) -> Strictness {
        if self.strict { Strictness::Strict } else { Strictness::Lenient }
    }

    /// The values of all `--target` flags.
    pub fn targets(&self) -> &[String] {
        self.spec.target.as_deref().unwrap_or_default()
    }

    /// The given flags as keys of a plan.
    pub fn keys(&self) -> Result<Map<String, Value>, Failure> {
        let mut keys = self.keys_of_first_target()?;
        if self.targets().len() > 1 {
            keys.insert("target".to_owned(), self.targets().into());
        }
        Ok(keys)
    }

    /// Like [`Self::keys`], with only the first target if there are several.
    pub fn keys_of_first_target(&self) -> Result<Map<String, Value>, Failure> {
        let mut keys = given(&self.spec)?;
        if self.no_ignore_eos {
            keys.insert("ignore_eos".to_owned(), Value::Bool(false));
        }
        if self.no_stream {
            keys.insert("stream".to_owned(), Value::Bool(false));
        }
        if self.no_server_metrics {
            keys.insert("server_metrics".to_owned(), Value::Bool(false));
        }
        if let Some(text) = &self.extra_body {
            match serde_json::from_str(text) {
                Ok(Value::Object(fields)) => {
                    keys.insert("extra_body".to_owned(), Value::Object(fields));
                }
                Ok(_) => {
                    return Err(Failure::usage("extra_body (--extra-body): is not a JSON object"));
                }
                Err(error) => {
                    let why = format!("extra_body (--extra-body): is not JSON: {error}");
                    return Err(Failure::usage(why));
                }
            }
        }
        Ok(keys)
    }
}
