//! The kinds of passes, as results name them.

use serde::{Deserialize, Serialize};

/// How a pass loads the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PassKind {
    /// One request at a time.
    OneByOne,
    /// All requests due at once.
    Saturated,
    /// A fixed number in flight: each end starts the next.
    Closed,
    /// Arrivals at a rate, whatever the server does.
    Open,
}

inferometer_model::names!(PassKind {
    OneByOne => "one_by_one", Saturated => "saturated", Closed => "closed", Open => "open",
});
