//! A resolved plan: everything that decides what is measured, nothing left to default.
//!
//! A plan is made by [`crate::spec::Spec::resolve`] and cannot be built from an invalid spec.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::request::{Sampling, sha256_hex};
use crate::slo::Objective;
use crate::summary::PassKind;

/// What to measure and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The server under test.
    pub target: TargetPlan,
    /// The tokenizer that the user named: a file, a folder or a hub id.
    pub tokenizer: Option<String>,
    /// Where prompts come from.
    pub workload: WorkloadPlan,
    /// The grid, in the order in which it is measured.
    pub cells: Vec<CellPlan>,
    /// The passes of each cell, in order.
    pub passes: Vec<PassPlan>,
    /// Requests before each cell that are sent and not reported.
    pub warmup: u32,
    /// How output is chosen and delivered.
    pub sampling: Sampling,
    /// Send prompts as token ids.
    pub token_ids: bool,
    /// Fit the prompt and the chat template around it, together, to the input length.
    pub count_template: bool,
    /// When to give a request up.
    pub timeouts: Timeouts,
    /// The share of failed requests of a pass above which the run fails.
    pub max_failures: f64,
    /// Objectives judged on the run.
    pub slo: Vec<Objective>,
    /// Makes every random choice.
    pub seed: u64,
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
        /// How much faster than real time it plays.
        speed: f64,
    },
    /// A server that runs already.
    Server {
        /// `http://host:port`, without a path.
        url: Url,
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
    /// Host name or address, IPv6 without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// A path in front of the dialect's own, without a final slash; usually empty.
    pub prefix: String,
}

impl std::fmt::Display for Url {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "http://{}{}", self.authority(), self.prefix)
    }
}

impl Url {
    /// `host:port`, with brackets around an IPv6 address.
    #[must_use]
    pub fn authority(&self) -> String {
        let Self { host, port, .. } = self;
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }
}

/// Where prompts come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkloadPlan {
    /// Seeded words of the tokenizer's vocabulary.
    Random,
    /// First turns of the conversations of a ShareGPT file, cut to length.
    Sharegpt {
        /// The JSON file.
        dataset: String,
    },
}

impl WorkloadPlan {
    /// The name that selects it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Sharegpt { .. } => "sharegpt",
        }
    }
}

/// A cell of the grid, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CellPlan {
    /// Prompt tokens.
    pub input_length: u32,
    /// Output tokens.
    pub output_length: u32,
}

impl std::fmt::Display for CellPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} x {}", self.input_length, self.output_length)
    }
}

/// How a pass loads the server.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum PassPlan {
    /// One request at a time.
    OneByOne {
        /// When it ends.
        bound: Bound,
    },
    /// All requests due at once.
    Saturated {
        /// How many.
        requests: u32,
    },
    /// A fixed number in flight.
    Closed {
        /// How many in flight.
        concurrency: u32,
        /// When it ends.
        bound: Bound,
    },
    /// Poisson arrivals.
    Open {
        /// Requests per second.
        rate: f64,
        /// When it ends.
        bound: Bound,
        /// The most in flight; what is due beyond it waits, and the wait counts from `due`.
        max_in_flight: Option<u32>,
    },
}

/// When a pass stops to begin requests: after a count, after a time, or at whichever comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bound {
    /// Requests.
    pub requests: Option<u32>,
    /// Time from the start of the pass.
    #[serde(with = "duration_ns")]
    pub duration: Option<Duration>,
}

impl Bound {
    /// Ends after this many requests.
    #[must_use]
    pub fn requests(count: u32) -> Self {
        Self { requests: Some(count), duration: None }
    }
}

impl PassPlan {
    /// The kind, as results name it.
    #[must_use]
    pub fn kind(&self) -> PassKind {
        match self {
            Self::OneByOne { .. } => PassKind::OneByOne,
            Self::Saturated { .. } => PassKind::Saturated,
            Self::Closed { .. } => PassKind::Closed,
            Self::Open { .. } => PassKind::Open,
        }
    }

    /// The number of requests, where it is known beforehand.
    #[must_use]
    pub fn requests(&self) -> Option<u32> {
        match self {
            Self::Saturated { requests } => Some(*requests),
            Self::OneByOne { bound } | Self::Closed { bound, .. } | Self::Open { bound, .. } => {
                bound.requests
            }
        }
    }

    /// Requests in flight that it asks for; closed loops only.
    #[must_use]
    pub fn concurrency(&self) -> Option<u32> {
        match self {
            Self::Closed { concurrency, .. } => Some(*concurrency),
            _ => None,
        }
    }

    /// Requests per second that it asks for; open loops only.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        match self {
            Self::Open { rate, .. } => Some(*rate),
            _ => None,
        }
    }
}

impl std::fmt::Display for PassPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::OneByOne { .. } => f.write_str("one by one"),
            Self::Saturated { .. } => f.write_str("saturated"),
            Self::Closed { concurrency, .. } => write!(f, "closed loop, {concurrency} in flight"),
            Self::Open { rate, .. } => write!(f, "open loop, {rate} requests/s"),
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
    /// The plan's identity: SHA-256 over its JSON.
    #[must_use]
    pub fn hash(&self) -> String {
        sha256_hex(&serde_json::to_vec(self).expect("invariant: a plan is plain data"))
    }
}

mod duration_ns {
    //! Durations as whole nanoseconds, so that a plan has one spelling.
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
