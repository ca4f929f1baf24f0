//! The server under test.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{SpreadPlan, Url};

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
        /// Speed relative to real time: 2 is twice as fast.
        speed: f64,
        /// The engine's own arguments that were given, by name.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        engine_flags: BTreeMap<String, String>,
    },
    /// A server that is already running.
    Server {
        /// `http://host:port` or `https://`, without a path.
        url: Url,
        /// Whether to accept any certificate under TLS.
        #[serde(default, skip_serializing_if = "super::is_false")]
        insecure: bool,
        /// The dialect by name; absent: ask the server.
        dialect: Option<String>,
        /// The path of requests, if it is not that of the dialect.
        endpoint: Option<String>,
        /// The model, as the server knows it; absent: ask the server.
        model: Option<String>,
        /// Names of the additional headers. Their values may be secrets and are not part of a plan.
        header_names: Vec<String>,
        /// The other servers behind the same load, and how requests are spread.
        #[serde(default, skip_serializing_if = "SpreadPlan::is_usual")]
        spread: SpreadPlan,
    },
}

impl TargetPlan {
    /// The addresses of the servers that the plan names.
    pub fn urls(&self) -> impl Iterator<Item = &Url> {
        let (first, others) = match self {
            Self::Server { url, spread, .. } => (Some(url), spread.others.as_slice()),
            Self::Embedded { .. } => (None, &[][..]),
        };
        first.into_iter().chain(others)
    }
}
