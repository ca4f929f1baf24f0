//! The flags of `run` and `search`, and from them the keys of a plan.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use inferometer_run::Strictness;
use serde::Serialize;
use serde_json::{Map, Value};

use super::load_flags::LoadFlags;
use super::workload_flags::WorkloadFlags;
use crate::command_line::exit::Failure;
use crate::command_line::prometheus;
use crate::command_line::terminal::View;

/// The flags of `run`. The keys of a plan file are the same, with underscores.
#[derive(Args)]
pub struct RunArgs {
    /// A plan file (TOML); flags win over what it says
    plan: Option<PathBuf>,
    #[command(flatten)]
    spec: SpecArgs,
    /// Do not ask the server to go on after end-of-text
    #[arg(long)]
    no_ignore_eos: bool,
    /// Ask for whole answers instead of streams
    #[arg(long)]
    no_stream: bool,
    /// Do not ask the server for its metrics while passes run
    #[arg(long)]
    no_server_metrics: bool,
    /// Further fields of the body, as a JSON object; they replace fields of the same name
    #[arg(long, value_name = "JSON")]
    extra_body: Option<String>,
    /// Go on with a run that was interrupted, killed or broken off: its plan, and what it has not
    /// measured whole; the new run has all of it. Of a plan with several servers: the plan file and
    /// the name of the group
    #[arg(long, value_name = "RUN|GROUP")]
    pub resume: Option<String>,
    /// Print the resolved plan, its hash, and the time and the memory that it takes; measure nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Print one JSON document on stdout and nothing else there
    #[arg(long)]
    pub json: bool,
    /// Write objectives (--slo, the answers of a search) as JUnit XML: a test case for each place where
    /// one is judged
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Print nothing on stderr but errors, whether objectives are met (PASS), the port that
    /// --metrics-listen chose, and that others can read what is there
    #[arg(long, short)]
    pub quiet: bool,
    /// No progress bars
    #[arg(long)]
    no_progress: bool,
    /// Show the run on the whole terminal while it goes on: throughput, latencies, failures, the
    /// server's metrics. It is measured as without
    #[arg(long, conflicts_with_all = ["quiet", "no_progress"])]
    pub tui: bool,
    /// Answer GET /metrics with the run in progress as Prometheus reads it: an address, or a port of
    /// this machine's own; 0 chooses one. It is measured as without
    #[arg(long, value_name = "ADDRESS", value_parser = prometheus::address)]
    pub metrics_listen: Option<SocketAddr>,
    /// Begin a run of more than ten minutes without asking; only a person at a terminal is asked
    #[arg(long, short)]
    yes: bool,
    /// Exit with 4 when the run is suspect
    #[arg(long)]
    strict: bool,
}

/// The flags that are keys of a plan, by the same names.
#[derive(Args, Serialize)]
struct SpecArgs {
    /// Server under test, such as http://127.0.0.1:8000 or unix:/path/to.sock [default: OPENAI_BASE_URL, else
    /// the embedded engine]
    #[arg(long, value_name = "URL", help_heading = "Target")]
    target: Option<String>,
    /// How to speak with the server; `auto` asks it
    #[arg(long, value_name = "NAME", help_heading = "Target")]
    dialect: Option<String>,
    /// Path to send requests to, where it is not the dialect's own
    #[arg(long, value_name = "PATH", help_heading = "Target")]
    endpoint: Option<String>,
    /// Model as the server knows it, or the embedded engine's
    #[arg(long, value_name = "NAME", help_heading = "Target")]
    model: Option<String>,
    /// Profile of the embedded engine: a name or a file
    #[arg(long, value_name = "NAME|FILE", help_heading = "Target")]
    profile: Option<String>,
    /// How much faster than real time the embedded engine plays
    #[arg(long, value_name = "FACTOR", help_heading = "Target")]
    speed: Option<String>,
    /// Make the embedded engine's steps differ as a real engine's do: step=SD (each for itself),
    /// drift=SD:TIME (slowly, all together), warmup=SHARE:TIME, burst=PROBABILITY:FACTOR,
    /// pause=TIME:EVERY, seed=N, of which any are given [default: none; the seed by --seed and --salt]
    #[arg(long, value_name = "PART,...", help_heading = "Target")]
    noise: Option<String>,
    /// Further header; may be given several times
    #[arg(long, value_name = "'NAME: VALUE'", help_heading = "Target")]
    header: Option<Vec<String>>,
    /// Where the server's metrics are, as an address or a path of the server [default: /metrics, if
    /// there is something]
    #[arg(long, value_name = "URL|PATH", help_heading = "Target")]
    metrics_url: Option<String>,
    /// How long to wait between two looks at the server's metrics and its cards [default: 1s]
    #[arg(long, value_name = "TIME", help_heading = "Target")]
    metrics_period: Option<String>,
    /// DCGM exporter of the server's machine, such as http://HOST:9400: clocks, power and energy
    #[arg(long, value_name = "URL", help_heading = "Target")]
    dcgm_url: Option<String>,
    /// Numbers of the cards that the server uses, such as 0,1: the only ones that are asked. Joules
    /// per token and request are given only of cards that are named
    #[arg(long, value_name = "N,...", value_delimiter = ',', help_heading = "Target")]
    cards: Option<Vec<u32>>,
    /// Environment variable that holds the key [default: OPENAI_API_KEY]
    #[arg(long, value_name = "NAME", help_heading = "Target")]
    api_key_env: Option<String>,
    /// PEM file with further authorities whose certificates are trusted
    #[arg(long, value_name = "FILE", help_heading = "Target")]
    ca_cert: Option<String>,
    /// Do not check the server's certificate, whatever certificate it shows
    #[arg(long, num_args = 0, default_missing_value = "true", help_heading = "Target")]
    insecure: Option<bool>,
    /// PEM file with the certificate by which the server knows its client
    #[arg(long, value_name = "FILE", help_heading = "Target")]
    client_cert: Option<String>,
    /// PEM file with the key of that certificate [default: the same file]
    #[arg(long, value_name = "FILE", help_heading = "Target")]
    client_key: Option<String>,
    /// HTTP proxy that leads to the server, or `none` [default: as HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and
    /// NO_PROXY say]
    #[arg(long, value_name = "URL|none", help_heading = "Target")]
    proxy: Option<String>,
    /// Wait so long until the server is ready: until it takes connections, has loaded its model and
    /// lists it
    #[arg(long, value_name = "TIME", help_heading = "Target")]
    wait: Option<String>,
    /// tokenizer.json, a folder that holds one, or a hub id [default: the server's own]
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
    /// Send prompts as token ids, exact by construction
    #[arg(long, num_args = 0, default_missing_value = "true", help_heading = "Workload")]
    token_ids: Option<bool>,
    /// Softmax temperature [default: 1]
    #[arg(long, value_parser = finite, value_name = "T", help_heading = "Workload")]
    temperature: Option<f64>,
    /// Makes every random choice [default: 0]
    #[arg(long, value_name = "N", help_heading = "Workload")]
    seed: Option<u64>,
    /// Keeps this run's prompts apart from every other's; give it to repeat a run exactly
    #[arg(long, value_name = "TEXT", help_heading = "Workload")]
    salt: Option<String>,
    #[command(flatten)]
    #[serde(flatten)]
    load: LoadFlags,
    /// Sent before each cell, one by one, and not reported: a number of requests, or a time [default: 1]
    #[arg(long, value_name = "N|TIME", help_heading = "Load")]
    warmup: Option<String>,
    /// Rest between two passes, during which nothing is sent [default: none]
    #[arg(long, value_name = "TIME", help_heading = "Load")]
    cooldown: Option<String>,
    /// How often the passes of each cell are carried out, with prompts of their own [default: 1]
    #[arg(long, value_name = "N", help_heading = "Load")]
    repeat: Option<u32>,
    /// Repeat until figures are known this well, such as 'ttft_p50±2%' (or +-): half the 95 %
    /// interval over the repeats
    #[arg(long, value_name = "FIGURE±SHARE,...", help_heading = "Load")]
    until: Option<String>,
    /// The most repeats of --until [default: 20]
    #[arg(long, value_name = "N", help_heading = "Load")]
    max_repeats: Option<u32>,
    /// The most that one request may take [default: 6h]
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    timeout: Option<String>,
    /// The most that opening a connection may take [default: 10s]
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    connect_timeout: Option<String>,
    /// The most that may pass until the first token
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    first_token_timeout: Option<String>,
    /// The most that may pass between two events of a stream
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    event_timeout: Option<String>,
    /// Share of failed requests of a pass above which the run fails [default: 1%]
    #[arg(long, value_name = "SHARE", help_heading = "Limits")]
    max_failures: Option<String>,
    /// Objectives judged on the run, such as 'ttft_p99<500ms,tpot_p99<50ms'
    #[arg(long, value_name = "OBJECTIVES", help_heading = "Limits")]
    slo: Option<String>,
    /// Objectives judged on each request, such as 'ttft<500ms,tpot<50ms'
    #[arg(long, value_name = "OBJECTIVES", help_heading = "Limits")]
    goodput: Option<String>,
    /// Show TTFT and E2E with each failed request as +inf too: percentiles of all planned requests
    #[arg(long, num_args = 0, default_missing_value = "true", help_heading = "Output")]
    failures_as_inf: Option<bool>,
    /// The database [default: inferometer.db]
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    store: Option<String>,
    /// Folder for reports and plots [default: inferometer-out/RUN]
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    out: Option<String>,
}

/// A number that is finite: JSON has no other, and would drop it.
pub fn finite(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        Ok(_) => Err("it is not a finite number".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// The flags that were given, by their names with underscores: the others are null.
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

    /// Adds the flags that are no keys of a plan, as others say, unless these say the opposite.
    pub fn switch(&mut self, lower: &Self) {
        let (shows_all, shows_less) = (self.tui, self.quiet || self.no_progress);
        self.tui |= lower.tui && !shows_less;
        self.quiet |= lower.quiet && !shows_all;
        self.no_progress |= lower.no_progress && !shows_all;
        self.json |= lower.json;
        self.yes |= lower.yes;
        self.strict |= lower.strict;
        self.dry_run |= lower.dry_run;
        self.metrics_listen = self.metrics_listen.or(lower.metrics_listen);
        if self.resume.is_none() {
            self.resume.clone_from(&lower.resume);
        }
        if self.junit.is_none() {
            self.junit.clone_from(&lower.junit);
        }
    }

    /// How it is shown.
    pub fn view(&self) -> View {
        View {
            quiet: self.quiet,
            progress: !self.no_progress && !self.quiet && !self.tui,
            tui: self.tui,
            ask: !self.yes && !self.quiet,
        }
    }

    /// How strictly its results are judged.
    pub fn strictness(&self) -> Strictness {
        if self.strict { Strictness::Strict } else { Strictness::Lenient }
    }

    /// The flags that were given, by the keys of a plan.
    pub fn keys(&self) -> Result<Map<String, Value>, Failure> {
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
