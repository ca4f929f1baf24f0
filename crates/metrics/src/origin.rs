//! The instants from which metrics count.

use serde::Serialize;

/// The instant from which a metric counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The first byte handed to the kernel: this shows what the server did with the request.
    Sent,
    /// When the plan wanted it to start: this shows what a user who arrived on schedule experienced.
    Due,
}
