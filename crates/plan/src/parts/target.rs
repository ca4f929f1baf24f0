//! The server under test.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::SpreadPlan;
use inferometer_model::Url;

/// The server under test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetPlan {
    /// The embedded engine, as a separate process.
    Embedded {
        /// The name of the model.
        model: String,
        /// The name of the profile, or its file; absent: the profile of the model.
        profile: Option<String>,
        /// The name of the dialect; absent: it is detected by requests to the server.
        dialect: Option<String>,
        /// Speed relative to real time: 2 is twice as fast.
        speed: f64,
        /// The arguments of the engine that the user gave, by name.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        engine_flags: BTreeMap<String, String>,
        /// The hash of the figures of the user's own card, if the argument `card` is the path of a file with these
        /// figures.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        card_hash: Option<String>,
        /// The hash of the file for each of the keys `model` and `profile` whose value is the path of a file.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        file_hashes: BTreeMap<String, String>,
    },
    /// A server that is already running, or that the run starts.
    Server {
        /// The address of the first server, or of the only one. Port 0: the run chooses a free port.
        url: Url,
        /// Whether to accept any TLS certificate.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        insecure: bool,
        /// The name of the dialect; absent: it is detected by requests to the server.
        dialect: Option<String>,
        /// The HTTP path of requests, if it is not the path of the dialect.
        endpoint: Option<String>,
        /// The name of the model on the server; absent: the name is requested from the server.
        model: Option<String>,
        /// Names of the additional headers. Their values may be secrets and are not part of a plan.
        header_names: Vec<String>,
        /// The name of the server's card, as the user states it. Absent: the name is known only if the server or its
        /// machine states it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        card: Option<String>,
        /// The other servers that share the load with the first one, and how requests are spread over all servers.
        #[serde(default, skip_serializing_if = "inferometer_model::is_default")]
        spread: SpreadPlan,
    },
}

impl TargetPlan {
    /// The addresses of the servers that the plan names; none for the embedded engine.
    pub fn urls(&self) -> impl Iterator<Item = &Url> {
        let (first, others) = match self {
            Self::Server { url, spread, .. } => (Some(url), spread.others.as_slice()),
            Self::Embedded { .. } => (None, &[][..]),
        };
        first.into_iter().chain(others)
    }
}
