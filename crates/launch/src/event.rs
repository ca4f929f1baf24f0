//! The messages between a launching process and its guard, one JSON document per line. Values only.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What a guard starts, and how it ends it: the first line of its standard input. The rest of the input is
/// ignored; its end makes the guard end the server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Environment variables in addition to those of this program.
    pub environment: BTreeMap<String, String>,
    /// Its working directory; `None`: that of this program.
    pub directory: Option<String>,
    /// A line of the log that contains this text means that the server is ready.
    pub ready_line: Option<String>,
    /// The file of its log.
    pub log: PathBuf,
    /// The most bytes of the log that are stored.
    pub log_limit_bytes: u64,
    /// The file of its resource use.
    pub usage: PathBuf,
    /// The time between SIGTERM and SIGKILL.
    pub grace: Duration,
    /// Headers of requests. Their secrets are removed from the log.
    pub headers: Vec<(String, String)>,
}

/// What a guard writes on its standard output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Event {
    /// The server could not be started.
    NotStarted(String),
    /// The server runs with this process id.
    Started(u32),
    /// The ready line was in the log.
    ReadyLine,
    /// A line of its log, at most one per second, to show progress to a waiting user.
    Line(String),
    /// Its resource use.
    Usage(Usage),
    /// Its first process has ended; the guard is ending the processes that it left behind.
    Ended(ServerExit),
}

/// The resource use of all processes of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Processor time so far, of all processes, in seconds.
    pub cpu_s: f64,
    /// Resident memory, in bytes. Pages that several processes share count for each of them.
    pub rss_bytes: u64,
    /// The largest `rss_bytes` so far.
    pub peak_rss_bytes: u64,
    /// Number of processes.
    pub processes: u64,
}

/// How a server ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerExit {
    /// `exit status: 1`, `signal: 9 (SIGKILL)`.
    pub how: String,
    /// The first lines of its log that name an error.
    pub first_errors: Vec<String>,
    /// The last lines of its log.
    pub last_lines: Vec<String>,
    /// Bytes of its log that were not stored.
    pub log_left_out_bytes: u64,
}
