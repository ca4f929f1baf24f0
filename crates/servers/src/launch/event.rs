//! The messages between a launching process and its guard, one JSON document per line. This file has only
//! types.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use inferometer_model::Nanos;
use serde::{Deserialize, Serialize};

/// The server that a guard starts, and how the guard ends it. This is the first line of the guard's standard
/// input. Another line ends the search for phases in the log; when the input ends, the guard ends the server.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct GuardConfig {
    /// The command to start: the program and its arguments.
    pub command: Vec<String>,
    /// Environment variables in addition to those of this program.
    pub environment: BTreeMap<String, String>,
    /// The server's working directory; `None` for the working directory of this program.
    pub directory: Option<String>,
    /// The server is ready when a line of its log contains this text. `None` if the log does not show readiness.
    pub ready_line: Option<String>,
    /// The file for the server's log.
    pub log: PathBuf,
    /// The largest size of the stored log, in bytes.
    pub log_limit_bytes: u64,
    /// The file for the server's resource use, as CSV.
    pub usage: PathBuf,
    /// The time between SIGTERM and SIGKILL when the server is ended.
    pub grace: Duration,
    /// Headers of requests. Their secrets are removed from the log.
    pub headers: Vec<(String, String)>,
}

/// A message that a guard writes to its standard output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Event {
    /// The server could not be started.
    NotStarted(String),
    /// The server runs. The instant is just before its process began.
    Started(Nanos),
    /// A line with the text of [`GuardConfig::ready_line`] was in the log.
    ReadyLine,
    /// A line of the server's log, at most one per second, to show progress to a waiting user. Also a message
    /// that the log cannot be written.
    Line(String),
    /// A line of the server's log that shows a phase of its start, and the instant at which it was read.
    PhaseLine(Nanos, String),
    /// The server's resource use.
    Usage(Usage),
    /// The first process of the server has ended. The guard is ending the remaining processes.
    Ended(ServerExit),
}

/// The resource use of all processes of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Processor time of all processes so far, in seconds.
    pub cpu_s: f64,
    /// Resident memory, in bytes. A page that several processes share is counted once for each of these processes.
    pub rss_bytes: u64,
    /// The largest `rss_bytes` so far.
    pub peak_rss_bytes: u64,
    /// Number of processes.
    pub processes: u64,
}

/// How a server ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerExit {
    /// The status of the first process, such as `exit status: 1` or `signal: 9 (SIGKILL)`; or a message that
    /// the guard was ended.
    pub how: String,
    /// The first lines of the log that name an error.
    pub first_errors: Vec<String>,
    /// The last lines of the log.
    pub last_lines: Vec<String>,
    /// The number of bytes of the log that were not stored.
    pub log_left_out_bytes: u64,
}
