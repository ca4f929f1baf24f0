//! The kinds of passes, as results name them.

use serde::{Deserialize, Serialize};

/// How a pass loads the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PassKind {
    /// One request at a time.
    OneByOne,
    /// All requests are due at the start of the pass.
    Saturated,
    /// A given number of requests in flight: when one ends, the next one starts.
    Closed,
    /// Arrivals at a rate or at recorded times, which do not depend on the server.
    Open,
}

crate::names!(PassKind {
    OneByOne => "one_by_one", Saturated => "saturated", Closed => "closed", Open => "open",
});
