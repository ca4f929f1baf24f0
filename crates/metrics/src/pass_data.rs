//! The data of a whole pass, from which metrics with one value per pass are computed.

use std::cell::OnceCell;

use super::{InFlight, Plateau, SteadyState, TokenCurve};

/// The data of a pass, as counts and as curves over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PassData {
    /// The requests that were sent, with any outcome, over time.
    pub in_flight: InFlight,
    /// The number of planned requests.
    pub planned: u64,
    /// Whether a stream was requested in at least one request.
    pub streamed: bool,
    /// The plateau of the load.
    pub plateau: Plateau,
    /// Output tokens of the completed requests over time.
    pub tokens: TokenCurve,
    /// The number of requests that met every objective on requests; absent without such objectives.
    pub met: Option<u64>,
    /// The number of requests that completed.
    pub completed: u64,
    /// Prompt tokens of the completed requests, as far as they were counted.
    pub input_tokens: u64,
    /// The number of completed requests whose prompt tokens were not counted.
    pub uncounted_prompts: u64,
    /// Output tokens of the completed requests, as far as they were counted.
    pub output_tokens: u64,
    /// The number of completed requests whose output tokens were not counted.
    pub uncounted: u64,
    /// The steady state, once it was computed: three metrics need it.
    pub steady_state: OnceCell<Option<SteadyState>>,
}
