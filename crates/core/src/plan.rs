//! A resolved plan: everything that decides what is measured, nothing left to default.
//!
//! A plan is made by [`crate::spec::Spec::resolve`] and cannot be built from an invalid spec.

mod drawn;
mod launch;
mod observe;
mod pass;
mod rows;
mod trace;
mod workload;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::goodput::RequestObjective;
use crate::repeat::Precision;
use crate::request::{Sampling, sha256_hex};
use crate::search::SearchPlan;
use crate::slo::Objective;
use crate::spec::Spec;

pub use drawn::{DrawnPlan, Lengths, PrefixPlan};
pub use launch::LaunchPlan;
pub use observe::{MetricsAt, ObservePlan};
pub use pass::{Bound, OverLimit, PassPlan, RECORDED};
pub use rows::{RowsFormat, RowsPlan};
pub use trace::{TraceFormat, TracePlan, TraceWindow};
pub use workload::{Grid, InFlight, ServingLimits, WorkloadPlan};

/// What to measure and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The server under test.
    pub target: TargetPlan,
    /// How it is started, where the run does that; its address in `target` has then port 0 if a
    /// free one is to be chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch: Option<LaunchPlan>,
    /// The tokenizer that the user named: a file, a folder or a hub id.
    pub tokenizer: Option<String>,
    /// Where prompts come from.
    pub workload: WorkloadPlan,
    /// The grid, in the order in which it is measured.
    pub cells: Vec<CellPlan>,
    /// The passes of each cell, in order.
    pub passes: Vec<PassPlan>,
    /// What is sent before each cell and not reported.
    pub warmup: Warmup,
    /// The rest after each pass, during which nothing is sent, so that one pass does not reach
    /// into the next.
    #[serde(default, with = "duration_ns", skip_serializing_if = "Option::is_none")]
    pub cooldown: Option<Duration>,
    /// How often the passes of each cell are carried out.
    #[serde(default)]
    pub repeat: Repeat,
    /// How output is chosen and delivered.
    pub sampling: Sampling,
    /// Send prompts as token ids.
    pub token_ids: bool,
    /// Empty the server's prefix cache before each pass.
    #[serde(default, skip_serializing_if = "is_false")]
    pub reset_prefix_cache: bool,
    /// Fit the prompt and the chat template around it, together, to the input length.
    pub count_template: bool,
    /// When to give a request up.
    pub timeouts: Timeouts,
    /// The share of failed requests of a pass above which the run fails.
    pub max_failures: f64,
    /// What is asked of the server and its cards while passes run.
    #[serde(default, skip_serializing_if = "ObservePlan::is_default")]
    pub observe: ObservePlan,
    /// Objectives judged on the run.
    pub slo: Vec<Objective>,
    /// Objectives judged on each request; those that meet all of them are the goodput.
    #[serde(default)]
    pub goodput: Vec<RequestObjective>,
    /// The highest load is looked for that meets the objectives: there is one pass then, which
    /// its trials vary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchPlan>,
    /// Makes every random choice.
    pub seed: u64,
    /// What was asked for, as a plan file would say it: for a reader who wants to do it again.
    /// No header, no key, no place for files.
    #[serde(default)]
    pub asked: Box<Spec>,
}

/// What is sent before each cell and not reported: one request at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Warmup {
    /// This many requests.
    Requests(u32),
    /// Requests until this time has passed.
    Time {
        /// The time.
        #[serde(rename = "duration_ns", with = "nanoseconds")]
        duration: Duration,
    },
}

impl Warmup {
    /// When it ends; none where there is no warm-up.
    #[must_use]
    pub fn bound(&self) -> Option<Bound> {
        match *self {
            Self::Requests(0) => None,
            Self::Requests(count) => Some(Bound::requests(count)),
            Self::Time { duration } => Some(Bound { requests: None, duration: Some(duration) }),
        }
    }
}

/// How often the passes of a cell are carried out, each time with prompts of their own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repeat {
    /// At least this often.
    pub at_least: u32,
    /// At most this often; equal to `at_least` where nothing is waited for.
    pub at_most: u32,
    /// Go on until all of these are known well enough, or to `at_most`.
    pub until: Vec<Precision>,
}

impl Default for Repeat {
    fn default() -> Self {
        Self { at_least: 1, at_most: 1, until: Vec::new() }
    }
}

/// The server under test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetPlan {
    /// The embedded engine, as a process of its own.
    Embedded {
        /// Model by name.
        model: String,
        /// Profile by name or file; absent: the model's own.
        profile: Option<String>,
        /// The dialect by name; absent: ask the server.
        dialect: Option<String>,
        /// How much faster than real time it plays.
        speed: f64,
        /// The engine's own arguments that were given, by name.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        engine_flags: BTreeMap<String, String>,
    },
    /// A server that runs already.
    Server {
        /// `http://host:port` or `https://`, without a path.
        url: Url,
        /// Whoever answers under TLS is taken for the server, whatever it shows.
        #[serde(default, skip_serializing_if = "is_false")]
        insecure: bool,
        /// The dialect by name; absent: ask the server.
        dialect: Option<String>,
        /// The path to send requests to, where it is not the dialect's.
        endpoint: Option<String>,
        /// The model, as the server knows it; absent: ask the server.
        model: Option<String>,
        /// Names of the further headers. Values may be secrets and are not part of a plan.
        header_names: Vec<String>,
    },
}

/// The address of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Url {
    /// Whether TLS is spoken there.
    #[serde(default, skip_serializing_if = "is_false")]
    pub secure: bool,
    /// Host name or address, IPv6 without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// A path in front of the dialect's own, without a final slash; usually empty.
    pub prefix: String,
}

impl std::fmt::Display for Url {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scheme = if self.secure { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority(), self.prefix)
    }
}

impl Url {
    /// A server without TLS and without a path.
    #[must_use]
    pub fn plain(host: impl Into<String>, port: u16) -> Self {
        Self { secure: false, host: host.into(), port, prefix: String::new() }
    }

    /// What the `host` field of a request says: the port only where it is not the usual one.
    #[must_use]
    pub fn host_field(&self) -> String {
        let authority = self.authority();
        let usual = if self.secure { ":443" } else { ":80" };
        authority.strip_suffix(usual).unwrap_or(&authority).to_owned()
    }

    /// `host:port`, with brackets around an IPv6 address.
    #[must_use]
    pub fn authority(&self) -> String {
        let Self { host, port, .. } = self;
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }
}

/// A cell of the grid: an input length and an output length, in the unit of the workload's
/// [`Grid`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CellPlan {
    /// The length of a prompt; 0 where the requests have lengths of their own.
    pub input_length: u32,
    /// The length of an output; 0 where the requests have lengths of their own.
    pub output_length: u32,
}

impl CellPlan {
    /// The one cell of a workload whose requests have lengths of their own.
    pub const OWN: Self = Self { input_length: 0, output_length: 0 };
}

impl std::fmt::Display for CellPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.input_length, self.output_length) {
            (0, 0) => f.write_str("own lengths"),
            (0, output) => write!(f, "own x {output}"),
            (input, 0) => write!(f, "{input} x own"),
            (input, output) => write!(f, "{input} x {output}"),
        }
    }
}

/// When to give a request up; each from the start of its phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeouts {
    /// Until the connection is ready.
    #[serde(with = "duration_ns")]
    pub connect: Option<Duration>,
    /// From the send to the first token.
    #[serde(with = "duration_ns")]
    pub first_token: Option<Duration>,
    /// From one event to the next.
    #[serde(with = "duration_ns")]
    pub between_events: Option<Duration>,
    /// From the send to the end.
    #[serde(with = "duration_ns")]
    pub total: Option<Duration>,
}

impl Plan {
    /// The passes of a cell: those of the plan, with as many in flight as the workload says for
    /// the cell, where it does.
    #[must_use]
    pub fn passes_of(&self, cell: CellPlan) -> Vec<PassPlan> {
        let mut passes = self.passes.clone();
        if let Some(in_flight) = self.workload.in_flight(cell) {
            for pass in &mut passes {
                if let PassPlan::Closed { concurrency, .. } = pass {
                    *concurrency = in_flight.into();
                }
            }
        }
        passes
    }

    /// The plan's identity: SHA-256 over its JSON.
    #[must_use]
    pub fn hash(&self) -> String {
        // Two ways of asking for the same are the same plan.
        let measured = Self { asked: Box::default(), ..self.clone() };
        sha256_hex(&serde_json::to_vec(&measured).expect("invariant: a plan is plain data"))
    }
}

/// Which trial of a search a pass is, or which repeat from the second on, as it stands behind the
/// pass's load: `, trial 3`.
#[must_use]
pub fn which(is_trial: bool, number: u32) -> String {
    match (is_trial, number) {
        (true, trial) => format!(", trial {trial}"),
        (false, 0 | 1) => String::new(),
        (false, repeat) => format!(", repeat {repeat}"),
    }
}

/// Options that were not there in plans of earlier versions leave these as they were.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_false(option: &bool) -> bool {
    !option
}

pub(crate) mod nanoseconds {
    //! A duration as whole nanoseconds, so that a plan has one spelling.
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(span: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        (span.as_nanos() as u64).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Duration, D::Error> {
        Ok(Duration::from_nanos(u64::deserialize(d)?))
    }
}

mod duration_ns {
    //! Durations that may be absent, as whole nanoseconds, so that a plan has one spelling.
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(
        duration: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        duration.map(|span| span.as_nanos() as u64).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(deserializer)?.map(Duration::from_nanos))
    }
}
