//! The ways in which a sweep can end.

use serde::{Deserialize, Serialize};

/// Why a sweep ended, or that it is not finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SweepEnding {
    /// The sweep is not finished, or was stopped.
    Unfinished,
    /// The server is saturated, and the knee is as precise as requested.
    Found,
    /// The server is not shown to be saturated at the highest allowed load.
    NotSaturated,
    /// The limit on requests was reached before the answer was known.
    RequestsSpent,
    /// The limit on trials was reached before the answer was known.
    TrialsSpent,
    /// The time limit was reached before the answer was known.
    TimeSpent,
    /// The server refused requests because the client sends too many (HTTP status 429). So higher loads would show its
    /// limit for this client, not its speed.
    RateLimited,
    /// No request of any trial completed.
    NothingCompleted,
}
