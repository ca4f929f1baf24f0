//! The resolved options of a server that a run starts itself. Starts nothing.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use inferometer_model::time::nanoseconds;

/// How to start the server under test, how to detect that it is ready, and how to end it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchPlan {
    /// The program and its arguments. `{host}`, `{port}` and `{inferometer}` are replaced when it is
    /// started.
    pub command: Vec<String>,
    /// The address that it listens on.
    pub host: String,
    /// The port; absent: a free one is chosen when it is started.
    pub port: Option<u16>,
    /// Environment variables in addition to those of this program.
    pub environment: BTreeMap<String, String>,
    /// Its working directory; absent: that of this program.
    pub directory: Option<String>,
    /// A path that answers with a status from 200 to 299 once the server is ready.
    pub ready_url: Option<String>,
    /// A text in a line of its log that shows that it is ready.
    pub ready_line: Option<String>,
    /// How long it may take to become ready.
    #[serde(rename = "ready_timeout_ns", with = "nanoseconds")]
    pub ready_timeout: Duration,
    /// How long it may take to end after a request to end, before it is killed.
    #[serde(rename = "grace_ns", with = "nanoseconds")]
    pub grace: Duration,
    /// The most bytes of its log that are stored.
    pub log_limit_bytes: u64,
    /// The named arguments, as they are compared between servers.
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
