//! How a sweep can end.

use serde::{Deserialize, Serialize};

/// Why a sweep ended, or that it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It goes on, or was broken off.
    Unfinished,
    /// The server is saturated, and the knee is known as well as was asked for.
    Found,
    /// The server is not shown to be saturated at the highest load that was asked for.
    NotSaturated,
    /// The requests were spent before that.
    RequestsSpent,
    /// As many trials were made as were allowed.
    TrialsSpent,
    /// The time was spent.
    TimeSpent,
    /// No request of any trial completed.
    NothingCompleted,
}
