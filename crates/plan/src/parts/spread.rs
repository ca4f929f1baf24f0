//! How the requests of one load are spread over several equal servers.

use serde::{Deserialize, Serialize};

use super::Url;

/// Which of several equal servers gets the next request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Balance {
    /// Each in turn.
    #[default]
    RoundRobin,
    /// The one with the fewest requests in flight; of several the next in turn.
    LeastInFlight,
    /// All requests of a session get the same one: the turns of a conversation, prompts with the same prefix.
    Session,
}

inferometer_model::names!(Balance {
    RoundRobin => "round-robin", LeastInFlight => "least-in-flight", Session => "session",
});

/// The further servers, how requests are spread, and what tells a router of sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpreadPlan {
    /// The servers beside the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Url>,
    /// Which of them gets the next request.
    #[serde(default)]
    pub balance: Balance,
    /// A header that carries the session of each request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_header: Option<String>,
    /// A cookie that does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_cookie: Option<String>,
}

impl SpreadPlan {
    /// Whether there is one server and nothing tells it of sessions, so that plans of versions without it have
    /// the hash that they had.
    pub(crate) fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}
