//! What a guard is told, once, and what it tells, a JSON document per line. Values only.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What a guard is to start and how it is to end it: the first line of its standard input. What
/// follows is thrown away; the end of the input is the order to end.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Variables beside those of this program.
    pub environment: BTreeMap<String, String>,
    /// Where it works; absent: where we do.
    pub directory: Option<String>,
    /// The text in a line of the log that says that it is ready.
    pub ready_line: Option<String>,
    /// The file for its log.
    pub log: PathBuf,
    /// Bytes of the log that are kept.
    pub log_limit_bytes: u64,
    /// The file for its use of the machine.
    pub usage: PathBuf,
    /// Time to end gently.
    pub grace: Duration,
}

/// What a guard says on its standard output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Event {
    /// The server could not be started.
    NotStarted(String),
    /// The server runs under this number.
    Started(u32),
    /// The line that says that it is ready was seen.
    ReadyLine,
    /// What it writes, now and then, so that somebody who waits sees that it works.
    Line(String),
    /// What it uses.
    Usage(Usage),
    /// Its first process has ended; what it left behind is being ended.
    Ended(Ended),
}

/// What the processes of a server use of this machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Processor time so far, of all processes, in seconds.
    pub cpu_s: f64,
    /// Memory that they hold, in bytes: pages that several share count for each.
    pub rss_bytes: u64,
    /// The most memory that was seen.
    pub peak_rss_bytes: u64,
    /// How many processes there are.
    pub processes: u64,
}

/// How a server ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// `exit status: 1`, `signal: 9 (SIGKILL)`.
    pub how: String,
    /// The first lines of its log that name an error.
    pub first_errors: Vec<String>,
    /// The last lines of its log.
    pub last_lines: Vec<String>,
    /// Bytes of its log that were not kept.
    pub log_left_out_bytes: u64,
}
