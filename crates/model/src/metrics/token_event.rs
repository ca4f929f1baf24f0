//! An event of a stream with output, in the form that metrics need.

use crate::{EventKind, Nanos};

/// A token event: its arrival, its kind, and its number of tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TokenEvent {
    /// The arrival of the read that completed the event.
    pub arrival: Nanos,
    /// The kind of output: text, empty text, reasoning or a tool call.
    pub kind: EventKind,
    /// The number of tokens; a fraction if the request's tokens are spread evenly over its events.
    pub tokens: f64,
    /// How much earlier than its stamp the event may have arrived, in milliseconds; 0 if the stamp is exact.
    pub width_ms: f64,
}
