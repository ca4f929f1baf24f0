//! The data of a whole pass, from which metrics with one value per pass are computed.

use std::cell::OnceCell;

use serde::{Deserialize, Serialize};

use super::{InFlight, Plateau, TokenCurve, job_data::Jobs};

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
    /// Prompt and output tokens of these requests, as far as they were counted.
    pub met_tokens: u64,
    /// The number of requests that completed.
    pub completed: u64,
    /// Prompt tokens of the completed requests, as far as they were counted.
    pub input_tokens: u64,
    /// The number of completed requests whose prompt tokens were not counted.
    pub uncounted_prompts: u64,
    /// Output tokens of the completed requests, as far as they were counted.
    pub output_tokens: u64,
    /// Reasoning tokens of the completed requests.
    pub reasoning_tokens: u64,
    /// The number of completed requests whose output tokens were not counted.
    pub uncounted: u64,
    /// The calls of jobs and conversations.
    pub jobs: Jobs,
    /// The steady state, once it was computed: three metrics need it.
    pub steady_state: OnceCell<Option<SteadyState>>,
}

/// The part of a pass in which the load kept its number of requests in flight. The time before this window is
/// the start-up, the time after it the drain.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SteadyState {
    /// The number of requests in flight at the plateau.
    pub plateau: u64,
    /// Seconds from the first send of the pass to the start of the window.
    pub startup_s: f64,
    /// The length of the window in seconds.
    pub duration_s: f64,
    /// Seconds from the end of the window to the last end of the pass.
    pub drain_s: f64,
    /// Requests per second: `output_tokens_per_s` divided by the mean output of the completed requests.
    pub requests_per_s: f64,
    /// Tokens of completed requests that arrived within the window, per second.
    pub output_tokens_per_s: f64,
    /// Tokens of completed requests that arrived before the window, per second. Absent if the start-up is
    /// shorter than [`crate::metrics::steady_state::SHORTEST_S`].
    pub startup_output_tokens_per_s: Option<f64>,
    /// Tokens of completed requests that arrived after the window, per second. Absent if the drain is shorter
    /// than [`crate::metrics::steady_state::SHORTEST_S`].
    pub drain_output_tokens_per_s: Option<f64>,
    /// The number of requests in flight, averaged over the window.
    pub mean_concurrency: f64,
}
