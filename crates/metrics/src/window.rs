//! The data of a whole pass for its metrics. Never single tokens.

use super::{InFlight, Plateau, TokenCurve};

/// A pass as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Every request that was sent, whatever its outcome.
    pub in_flight: InFlight,
    /// Requests that were planned.
    pub planned: u64,
    /// Whether streams were asked for.
    pub streamed: bool,
    /// The plateau of the load.
    pub plateau: Plateau,
    /// Output tokens of the completed requests over time.
    pub tokens: TokenCurve,
    /// Requests that met every objective on requests; absent if there is none.
    pub met: Option<u64>,
    /// Requests that completed.
    pub completed: u64,
    /// Prompt tokens of the completed requests.
    pub input_tokens: u64,
    /// Output tokens of the completed requests.
    pub output_tokens: u64,
    /// Completed requests whose output tokens were not counted.
    pub uncounted: u64,
}
