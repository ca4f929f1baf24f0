//! How a sweep can end.

use serde::{Deserialize, Serialize};

/// Why a sweep ended, or that it is not finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SweepEnding {
    /// It is not finished, or was stopped.
    Unfinished,
    /// The server is saturated, and the knee is as precise as asked for.
    Found,
    /// The server is not shown to be saturated at the highest allowed load.
    NotSaturated,
    /// The limit on requests was reached before that.
    RequestsSpent,
    /// The limit on trials was reached.
    TrialsSpent,
    /// The time limit was reached.
    TimeSpent,
    /// No request of any trial completed.
    NothingCompleted,
}
