//! What the metrics of a whole pass are computed from. Never single tokens.

use super::{InFlight, Plateau, TokenCurve};

/// A pass as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Every request that was sent, whatever became of it.
    pub in_flight: InFlight,
    /// Requests that were planned.
    pub planned: u64,
    /// Whether streams were asked for.
    pub streamed: bool,
    /// What the load says of its plateau.
    pub plateau: Plateau,
    /// Output tokens of the completed requests over time.
    pub tokens: TokenCurve,
    /// Requests that met every objective on requests; absent where there is none.
    pub met: Option<u64>,
    /// Requests that completed.
    pub completed: u64,
    /// Prompt tokens of the completed requests.
    pub input_tokens: u64,
    /// Output tokens of the completed requests.
    pub output_tokens: u64,
    /// Completed requests whose output tokens nobody counted.
    pub uncounted: u64,
}
