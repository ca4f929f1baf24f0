//! A spec: what a person asked for, in a plan file or by flags, most of it left open. Resolving it
//! gives a [`Plan`] with nothing left open, or every mistake at once.

mod blocks;
mod conversation;
mod drawn;
mod levels;
mod observe;
mod passes;
mod repeats;
mod rows;
mod search;
mod server;
mod serving;
mod spelled_out;
mod trace;
mod values;
mod variants;
mod workload;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use blocks::BlockKeys;
pub use conversation::ConversationKeys;
pub use drawn::DrawnKeys;
pub use levels::{StageTable, Stages};
pub use observe::ObserveKeys;
pub use rows::RowsKeys;
pub use search::SearchSpec;
pub use server::{CommandLine, ServerSpec};
pub use serving::ServingKeys;
pub use trace::TraceKeys;
pub use values::{Value, url as parse_url};
pub use variants::{TargetSpec, Variant, variants};
pub use workload::{WORKLOADS, WorkloadKeys};

use crate::goodput::{self, RequestObjective};
use crate::plan::{
    CellPlan, Grid, LaunchPlan, Plan, TargetPlan, Timeouts, Url, Warmup, WorkloadPlan,
};
use crate::request::Sampling;
use crate::slo::{self, Objective};
use crate::suggest::did_you_mean;

/// The keys of a plan file; the flags of `run` are the same with dashes. Everything is optional.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spec {
    /// Address of the server under test; absent: the embedded engine.
    pub target: Option<String>,
    /// The server under test, where the run starts it itself.
    pub server: Option<ServerSpec>,
    /// Path to send requests to, where it is not the dialect's own.
    pub endpoint: Option<String>,
    /// Dialect by name, or `auto`.
    pub dialect: Option<String>,
    /// Model as the server knows it, or the embedded engine's.
    pub model: Option<String>,
    /// Profile of the embedded engine.
    pub profile: Option<String>,
    /// How much faster than real time the embedded engine plays.
    pub speed: Option<Value>,
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
    /// The most in flight in an open loop.
    pub max_in_flight: Option<u32>,
    /// What becomes of requests that are due beyond it: `queue`, `drop`.
    pub over_limit: Option<String>,
    /// Time after which closed and open loops begin no further request.
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
    /// Where prompts come from.
    #[serde(flatten)]
    pub workload: WorkloadKeys,
    /// Makes every random choice.
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
    /// The most that may pass until the first token.
    pub first_token_timeout: Option<Value>,
    /// The most that may pass between two events of a stream.
    pub event_timeout: Option<Value>,
    /// Share of failed requests of a pass above which the run fails.
    pub max_failures: Option<Value>,
    /// Further headers, `Name: value`.
    pub header: Option<Vec<String>>,
    /// Further fields of the body.
    pub extra_body: Option<serde_json::Map<String, serde_json::Value>>,
    /// Softmax temperature.
    pub temperature: Option<f64>,
    /// Ask the server to go on after end-of-text.
    pub ignore_eos: Option<bool>,
    /// Ask for streams.
    pub stream: Option<bool>,
    /// Name of the environment variable that holds the key.
    pub api_key_env: Option<String>,
    /// PEM file with further authorities whose certificates are trusted.
    pub ca_cert: Option<String>,
    /// Trust whoever answers, whatever certificate it shows.
    pub insecure: Option<bool>,
    /// What is asked of the server and its cards while passes run.
    #[serde(flatten)]
    pub observe: ObserveKeys,
    /// The database.
    pub store: Option<String>,
    /// The folder for reports and plots.
    pub out: Option<String>,
    /// A file for the requests as they are sent.
    pub dump_workload: Option<String>,
}

/// Names that other rooms know and a spec may use.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// Dialects.
    pub dialects: &'a [&'a str],
    /// Models of the embedded engine.
    pub models: &'a [&'a str],
}

/// One mistake in a spec.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}{}: {problem}", flag_of(key))]
pub struct SpecError {
    /// The key of the plan file.
    pub key: &'static str,
    /// What was found, what is wrong with it, what to do.
    pub problem: String,
}

/// ` (--flag)` of a key; tables of a plan file have none.
fn flag_of(key: &str) -> String {
    if key == "server" { String::new() } else { format!(" (--{})", key.replace('_', "-")) }
}

/// The longest prompt or output that is believed, in tokens: of plans, traces and histograms alike.
pub const MAX_LENGTH: u32 = 10_000_000;

impl Spec {
    /// Resolves everything that was left open.
    ///
    /// # Errors
    /// Every mistake, each with its key.
    pub fn resolve(&self, known: &Known<'_>) -> Result<Plan, Vec<SpecError>> {
        let mut mistakes = Mistakes::default();
        let workload = self.workload.resolve(self.asked(), &mut mistakes);
        let search = search::search(self, &mut mistakes);
        let plan = Plan {
            target: self.target(known, &mut mistakes),
            launch: self.launch(&mut mistakes),
            tokenizer: self.tokenizer.clone(),
            cells: self.cells(&workload, &mut mistakes),
            passes: passes::passes(self, &workload, search.as_ref(), &mut mistakes),
            workload,
            warmup: mistakes
                .read("warmup", self.warmup.as_ref(), values::warmup)
                .unwrap_or(Warmup::Requests(1)),
            cooldown: mistakes.read("cooldown", self.cooldown.as_ref(), values::span),
            repeat: repeats::repeat(self, &mut mistakes),
            sampling: self.sampling(&mut mistakes),
            token_ids: self.token_ids.unwrap_or(false),
            reset_prefix_cache: self.reset_prefix_cache.unwrap_or(false),
            count_template: self.count_template.unwrap_or(false),
            timeouts: self.timeouts(&mut mistakes),
            max_failures: mistakes
                .read("max_failures", self.max_failures.as_ref(), values::share)
                .unwrap_or(0.01),
            observe: self.observe.resolve(&mut mistakes),
            slo: self.objectives(&mut mistakes),
            goodput: self.request_objectives(&mut mistakes),
            seed: self.seed.unwrap_or(0),
            search,
            asked: Box::new(Self {
                header: None,
                store: None,
                dump_workload: None,
                ..self.clone()
            }),
        };
        if mistakes.0.is_empty() { Ok(plan) } else { Err(mistakes.0) }
    }

    /// The headers as name and value.
    ///
    /// # Errors
    /// Every header that is not one. Values are not repeated: they may be secrets.
    pub fn headers(&self) -> Result<Vec<(String, String)>, Vec<SpecError>> {
        let mut mistakes = Mistakes::default();
        let mut headers = Vec::new();
        for (position, header) in self.header.iter().flatten().enumerate() {
            match header.split_once(':') {
                Some((name, value)) if is_header(name.trim(), value.trim()) => {
                    headers.push((name.trim().to_owned(), value.trim().to_owned()));
                }
                _ => mistakes.add(
                    "header",
                    format!("number {} is not a header that can be added; write it as 'Name: value', and leave those that \
                     frame a request (Host, Content-Length, ...) to this program", position + 1),
                ),
            }
        }
        if mistakes.0.is_empty() { Ok(headers) } else { Err(mistakes.0) }
    }

    fn target(&self, known: &Known<'_>, mistakes: &mut Mistakes) -> TargetPlan {
        let dialect = self.dialect.as_deref().filter(|&name| name != "auto");
        if let Some(name) = dialect.filter(|name| !known.dialects.contains(name)) {
            mistakes.add(
                "dialect",
                format!(
                    "`{name}` is not a dialect{}; there are auto, {}",
                    did_you_mean(name, known.dialects.iter().copied()),
                    known.dialects.join(", ")
                ),
            );
        }
        let url = match (&self.target, &self.server) {
            (None, None) => return self.embedded(known, mistakes),
            (Some(_), Some(_)) => {
                mistakes.add("server", "starts the target itself; leave out target or it");
                Url::plain("", 0)
            }
            (Some(address), None) => values::url(address).unwrap_or_else(|problem| {
                mistakes.add("target", format!("`{}` {problem}", without_user(address)));
                Url::plain("", 0)
            }),
            // Mistakes in it are told where it is resolved.
            (None, Some(server)) => server.resolve().map_or_else(
                |_| Url::plain("", 0),
                |launch| Url::plain(launch.reached_at(), launch.port.unwrap_or(0)),
            ),
        };
        self.served(url, dialect, mistakes)
    }

    fn launch(&self, mistakes: &mut Mistakes) -> Option<LaunchPlan> {
        match self.server.as_ref()?.resolve() {
            Ok(launch) => Some(launch),
            Err(problems) => {
                problems.into_iter().for_each(|problem| mistakes.add("server", problem));
                None
            }
        }
    }

    /// A server that is no embedded engine of ours.
    fn served(&self, url: Url, dialect: Option<&str>, mistakes: &mut Mistakes) -> TargetPlan {
        for (key, given) in [("profile", self.profile.is_some()), ("speed", self.speed.is_some())] {
            if given {
                mistakes.add(key, "belongs to the embedded engine; leave out target or it");
            }
        }
        let is_path = |path: &String| {
            path.starts_with('/') && !path.contains(|c: char| c.is_control() || c == ' ')
        };
        if self.endpoint.as_ref().is_some_and(|path| !is_path(path)) {
            mistakes.add("endpoint", "is a path on the server: it begins with / and has no spaces");
        }
        let header_names = self.headers().map_or_else(
            |errors| {
                mistakes.0.extend(errors);
                Vec::new()
            },
            |headers| headers.into_iter().map(|(name, _)| name).collect(),
        );
        let insecure = self.insecure.unwrap_or(false);
        for (key, given) in [("ca_cert", self.ca_cert.is_some()), ("insecure", insecure)] {
            if given && !url.secure {
                mistakes.add(key, "is about certificates; the target has no https:// address");
            }
        }
        if insecure && self.ca_cert.is_some() {
            mistakes.add("insecure", "trusts anybody; leave it out, or ca_cert");
        }
        TargetPlan::Server {
            url,
            insecure,
            dialect: dialect.map(str::to_owned),
            endpoint: self.endpoint.clone(),
            model: self.model.clone().filter(|name| name != "auto"),
            header_names,
        }
    }

    fn embedded(&self, known: &Known<'_>, mistakes: &mut Mistakes) -> TargetPlan {
        for (key, given) in [
            ("endpoint", self.endpoint.is_some()),
            ("header", self.header.is_some()),
            ("api_key_env", self.api_key_env.is_some()),
            ("ca_cert", self.ca_cert.is_some()),
            ("insecure", self.insecure.is_some()),
        ] {
            if given {
                mistakes.add(key, "needs a target; the embedded engine has no use for it");
            }
        }
        let model = self.model.clone().unwrap_or_else(|| "chatglm3-6b".to_owned());
        let is_known = known.models.iter().any(|known| known.eq_ignore_ascii_case(&model));
        if !is_known && !model.ends_with(".json") {
            mistakes.add(
                "model",
                format!(
                    "`{model}` is not a model of the embedded engine{}; there are {}, or give the \
                     path of a config.json",
                    did_you_mean(&model, known.models.iter().copied()),
                    known.models.join(", ")
                ),
            );
        }
        let speed = mistakes.read("speed", self.speed.as_ref(), values::positive).unwrap_or(1.0);
        let dialect = self.dialect.clone().filter(|name| name != "auto");
        let (profile, engine_flags) = (self.profile.clone(), BTreeMap::new());
        TargetPlan::Embedded { model, profile, dialect, speed, engine_flags }
    }

    fn cells(&self, workload: &WorkloadPlan, mistakes: &mut Mistakes) -> Vec<CellPlan> {
        if workload.grid() == Grid::Own {
            for (key, given) in [
                ("input_lengths", self.input_lengths.is_some()),
                ("output_lengths", self.output_lengths.is_some()),
            ] {
                if given {
                    let name = workload.name();
                    mistakes.add(key, format!("is not used: requests of {name} have their own"));
                }
            }
            return vec![CellPlan::OWN];
        }
        if workload.grid() == Grid::Characters {
            return self.block_cells(mistakes);
        }
        let (own_input, own_output) = workload.own_axes();
        if let WorkloadPlan::Replay { .. } = workload {
            return self.replayed_cells();
        }
        let inputs = match own_input {
            true => own_axis("input_lengths", self.input_lengths.as_deref(), mistakes),
            false => lengths("input_lengths", self.input_lengths.as_deref(), &[128, 512], mistakes),
        };
        let outputs = match own_output {
            true => own_axis("output_lengths", self.output_lengths.as_deref(), mistakes),
            false => {
                lengths("output_lengths", self.output_lengths.as_deref(), &[32, 128], mistakes)
            }
        };
        let prefix = workload.prefix_length();
        if let Some(short) = inputs.iter().find(|&&input| input > 0 && input <= prefix) {
            let problem =
                format!("{prefix} leaves nothing of prompts of {short}: --input-lengths has both");
            mistakes.add("prefix_length", problem);
        }
        let pair = |&input_length: &u32| {
            outputs.iter().map(move |&output_length| CellPlan { input_length, output_length })
        };
        inputs.iter().flat_map(pair).collect()
    }

    /// The grid of a run that is sent again: 0 where its requests have lengths of their own.
    fn replayed_cells(&self) -> Vec<CellPlan> {
        let own = [0].as_slice();
        let inputs = self.input_lengths.as_deref().unwrap_or(own);
        let outputs = self.output_lengths.as_deref().unwrap_or(own);
        let pair = |&input_length: &u32| {
            outputs.iter().map(move |&output_length| CellPlan { input_length, output_length })
        };
        inputs.iter().flat_map(pair).collect()
    }

    /// Block sizes by lengths asked for, in characters.
    fn block_cells(&self, mistakes: &mut Mistakes) -> Vec<CellPlan> {
        for (key, given) in [
            ("input_lengths", self.input_lengths.is_some()),
            ("output_lengths", self.output_lengths.is_some()),
        ] {
            if given {
                mistakes.add(key, "is in tokens; blocks have block_sizes and wanted_lengths");
            }
        }
        let (sizes, wanted) = self.workload.blocks.lengths(passes::is_demonstration(self));
        let sizes = lengths("block_sizes", Some(&sizes), &[], mistakes);
        let wanted = lengths("wanted_lengths", Some(&wanted), &[], mistakes);
        let pair = |&input_length: &u32| {
            wanted.iter().map(move |&output_length| CellPlan { input_length, output_length })
        };
        sizes.iter().flat_map(pair).collect()
    }

    fn asked(&self) -> workload::Asked {
        workload::Asked {
            lengths: self.input_lengths.is_some() || self.output_lengths.is_some(),
            own_load: passes::has_own_load(self) || self.passes.is_some(),
            is_demonstration: passes::is_demonstration(self),
        }
    }

    fn sampling(&self, mistakes: &mut Mistakes) -> Sampling {
        let temperature = self.temperature.unwrap_or(1.0);
        if !(temperature.is_finite() && temperature >= 0.0) {
            mistakes.add("temperature", format!("{temperature} is not a number from 0 on"));
        }
        Sampling {
            temperature,
            // A text of about so many characters ends where the model ends it.
            ignore_eos: self.ignore_eos.unwrap_or(self.workload.name() != "blocks"),
            stream: self.stream.unwrap_or(true),
            extra_body: self.extra_body.clone().unwrap_or_default(),
        }
    }

    fn objectives(&self, mistakes: &mut Mistakes) -> Vec<Objective> {
        let Some(text) = &self.slo else { return Vec::new() };
        slo::parse(text).unwrap_or_else(|errors| {
            errors.iter().for_each(|error| mistakes.add("slo", error.to_string()));
            Vec::new()
        })
    }

    fn request_objectives(&self, mistakes: &mut Mistakes) -> Vec<RequestObjective> {
        let Some(text) = &self.goodput else { return Vec::new() };
        let objectives = goodput::parse(text).unwrap_or_else(|errors| {
            errors.iter().for_each(|error| mistakes.add("goodput", error.to_string()));
            Vec::new()
        });
        if self.stream == Some(false) {
            for objective in objectives.iter().filter(|objective| objective.needs_stream()) {
                let problem = format!("`{}` cannot be judged without streaming", objective.text);
                mistakes.add("goodput", problem);
            }
        }
        objectives
    }

    fn timeouts(&self, mistakes: &mut Mistakes) -> Timeouts {
        let mut read =
            |key, value: &Option<Value>| mistakes.read(key, value.as_ref(), values::span);
        let seconds = std::time::Duration::from_secs;
        Timeouts {
            connect: read("connect_timeout", &self.connect_timeout).or(Some(seconds(10))),
            first_token: read("first_token_timeout", &self.first_token_timeout),
            between_events: read("event_timeout", &self.event_timeout),
            total: read("timeout", &self.timeout).or(Some(seconds(6 * 3600))),
        }
    }
}

/// The mistakes found so far.
#[derive(Default)]
struct Mistakes(Vec<SpecError>);

impl Mistakes {
    fn add(&mut self, key: &'static str, problem: impl Into<String>) {
        self.0.push(SpecError { key, problem: problem.into() });
    }

    /// Reads a value if it was given; a mistake is noted.
    fn read<T>(
        &mut self,
        key: &'static str,
        value: Option<&Value>,
        read: impl Fn(&Value) -> Result<T, &'static str>,
    ) -> Option<T> {
        match read(value?) {
            Ok(read) => Some(read),
            Err(problem) => {
                self.add(key, format!("`{}` {problem}", value?));
                None
            }
        }
    }

    /// A count, which must not be 0.
    fn count(&mut self, key: &'static str, given: Option<u32>, default: u32) -> u32 {
        let count = given.unwrap_or(default);
        if count == 0 {
            self.add(key, "is 0; give at least 1");
        }
        count
    }
}

fn lengths(
    key: &'static str,
    given: Option<&[u32]>,
    default: &[u32],
    mistakes: &mut Mistakes,
) -> Vec<u32> {
    let lengths = given.unwrap_or(default);
    if lengths.is_empty() {
        mistakes.add(key, "is empty; give at least one length");
    }
    for (position, &length) in lengths.iter().enumerate() {
        if length == 0 || length > MAX_LENGTH {
            mistakes.add(
                key,
                format!("{length} is not a length; give a number from 1 to {MAX_LENGTH}"),
            );
        }
        if lengths[..position].contains(&length) {
            mistakes.add(key, format!("{length} is there twice"));
        }
    }
    lengths.to_vec()
}

/// The lengths of an axis that the grid says nothing of.
fn own_axis(key: &'static str, given: Option<&[u32]>, mistakes: &mut Mistakes) -> Vec<u32> {
    if given.is_some() {
        mistakes.add(key, "is not used: these lengths have a distribution of their own");
    }
    vec![0]
}

fn is_header(name: &str, value: &str) -> bool {
    let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    let framing = ["content-length", "transfer-encoding", "connection", "host"];
    !name.is_empty()
        && !framing.iter().any(|known| name.eq_ignore_ascii_case(known))
        && name.chars().all(token)
        && !value.chars().any(|c| c.is_control())
}

/// An address as it may be shown: what stands before an `@` may be a password.
fn without_user(address: &str) -> &str {
    address.rsplit_once('@').map_or(address, |(_, rest)| rest)
}

#[cfg(test)]
mod tests;
