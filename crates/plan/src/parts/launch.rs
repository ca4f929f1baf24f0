//! A server that a run starts itself, as far as the plan knows it. Never starts anything.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use inferometer_model::time::nanoseconds;

/// How to start the server under test, to know that it is ready, and to end it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchPlan {
    /// The program and its arguments. `{host}`, `{port}` and `{inferometer}` are filled in when
    /// it is started.
    pub command: Vec<String>,
    /// The address that it listens on.
    pub host: String,
    /// The port; absent: a free one is chosen when it is started.
    pub port: Option<u16>,
    /// Variables of its environment beside those that this program has.
    pub environment: BTreeMap<String, String>,
    /// The folder that it works in; absent: this program's.
    pub directory: Option<String>,
    /// A path that answers with a status from 200 to 299 once the server is ready.
    pub ready_url: Option<String>,
    /// A text in a line of its log once it is ready.
    pub ready_line: Option<String>,
    /// How long it may take until it is ready.
    #[serde(rename = "ready_timeout_ns", with = "nanoseconds")]
    pub ready_timeout: Duration,
    /// How long it may take to end gently, before it is ended firmly.
    #[serde(rename = "grace_ns", with = "nanoseconds")]
    pub grace: Duration,
    /// Bytes of its log that are kept.
    pub log_limit_bytes: u64,
    /// The arguments that were given by name, as they are compared between servers.
    pub settings: BTreeMap<String, String>,
}

impl LaunchPlan {
    /// The address at which this machine reaches a server that listens on `host`.
    pub fn reached_at(&self) -> &str {
        match self.host.as_str() {
            "0.0.0.0" => "127.0.0.1",
            "::" => "::1",
            host => host,
        }
    }
}
