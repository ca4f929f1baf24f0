//! The resolved options of a server that a run starts itself. This module starts nothing.

use std::{collections::BTreeMap, fmt, time::Duration};

use serde::{Deserialize, Serialize};

use inferometer_model::secrets::{REDACTED, secrets_in_words};
use inferometer_model::{Secrets, time::nanoseconds};

/// How to start the server under test, how to detect that it is ready, and how to end it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchPlan {
    /// The program and its arguments, with `***` for each secret. The placeholders `{host}`, `{port}` and
    /// `{inferometer}` are replaced when the server is started.
    pub command: Vec<String>,
    /// The address on which the server listens.
    pub host: String,
    /// The port. Absent: the port in the command; if the command has none, a free port is chosen when the server
    /// is started.
    pub port: Option<u16>,
    /// Environment variables in addition to those of this program. The placeholders in their values are replaced too.
    pub environment: BTreeMap<String, String>,
    /// The working directory of the server; absent: that of this program.
    pub directory: Option<String>,
    /// An HTTP path that answers with a status from 200 to 299 once the server is ready. If `ready_line` is set
    /// too, the server is ready when both conditions are met.
    pub ready_url: Option<String>,
    /// A text that a line of the server's log contains once the server is ready.
    pub ready_line: Option<String>,
    /// The longest time from the start of the server until it is ready.
    #[serde(rename = "ready_timeout_ns", with = "nanoseconds")]
    pub ready_timeout: Duration,
    /// The time between SIGTERM and SIGKILL when the server is ended.
    #[serde(rename = "grace_ns", with = "nanoseconds")]
    pub grace: Duration,
    /// The maximum size of the stored log of the server, in bytes.
    pub log_limit_bytes: u64,
    /// The named arguments of the command with their values. Comparisons of servers show them.
    pub settings: BTreeMap<String, String>,
    /// The command and the environment variables with their secrets; `None` if there are no secrets. A stored plan
    /// does not contain them.
    #[serde(skip)]
    pub with_secrets: Option<Box<SecretWords>>,
}

/// A command and environment variables that contain secrets. `Debug` does not show them.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretWords {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Environment variables in addition to those of this program.
    pub environment: BTreeMap<String, String>,
}

impl fmt::Debug for SecretWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

impl LaunchPlan {
    /// The secrets in the command and in the environment variables.
    pub fn secrets(&self) -> Secrets {
        let words = self.command.iter().chain(self.environment.values());
        Secrets::of_headers(&secrets_in_words(words.map(String::as_str)))
    }

    /// Moves secrets out of the part of the plan that is stored and shown.
    pub(crate) fn hide(&mut self, secrets: &Secrets) {
        let (command, environment) = (self.command.clone(), self.environment.clone());
        self.with_secrets = Some(Box::new(SecretWords { command, environment }));
        let values = self.environment.values_mut().chain(self.settings.values_mut());
        for text in self.command.iter_mut().chain(values) {
            *text = secrets.redact_name(text).into_owned();
        }
    }

    /// The address at which this machine reaches a server that listens on `host`.
    pub fn reached_at(&self) -> &str {
        match self.host.as_str() {
            "0.0.0.0" => "127.0.0.1",
            "::" => "::1",
            host => host,
        }
    }
}
