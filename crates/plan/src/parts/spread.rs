//! How the requests of one load are spread over several equal servers.

use serde::{Deserialize, Serialize};

use inferometer_model::Url;

/// Which of several equal servers gets the next request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Balance {
    /// Each server one after the other, then again from the first one.
    #[default]
    RoundRobin,
    /// The server with the fewest requests in flight. If several servers have equally few, these are
    /// used one after the other.
    LeastInFlight,
    /// All requests of a session go to the same server. A session is the turns of a conversation, or the
    /// prompts with the same prefix. Requests without a session go to each server one after the other.
    Session,
}

inferometer_model::names!(Balance {
    RoundRobin => "round-robin", LeastInFlight => "least-in-flight", Session => "session",
});

/// The servers in addition to the first one, how requests are spread, and how a router can recognise
/// sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpreadPlan {
    /// The servers other than the first one, whose address is in `TargetPlan`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Url>,
    /// Which of all servers, including the first one, gets the next request.
    #[serde(default)]
    pub balance: Balance,
    /// The name of a header with the session of each request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_header: Option<String>,
    /// The name of a cookie with the session of each request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_cookie: Option<String>,
    /// Whether each request has a header `traceparent`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub traceparent: bool,
}
