//! The instants from which metrics count.

use serde::Serialize;

/// The instant from which a metric counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// When the first byte was given to the kernel. The latency then shows what the server did with the
    /// request.
    Sent,
    /// When the request was due according to the plan. The latency then includes delays of the client. It is the
    /// latency for a user who sends the request at the planned instant.
    Due,
}
