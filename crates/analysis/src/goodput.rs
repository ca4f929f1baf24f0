//! How many requests met objectives on requests.

use serde::{Deserialize, Serialize};

/// The requests that met the plan's objectives on requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Goodput {
    /// The objectives as they were written.
    pub objectives: String,
    /// Requests that completed and met all objectives.
    pub met: u64,
    /// `met` per second over the duration of the pass.
    pub requests_per_s: Option<f64>,
    /// 95 % interval of `requests_per_s`; see [`crate::PassSummary::intervals`].
    pub requests_per_s_ci: Option<[f64; 2]>,
    /// Prompt and output tokens of these requests; absent if they were not counted, and in results of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// 95 % interval of `tokens` per second over the duration of the pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_per_s_ci: Option<[f64; 2]>,
    /// `met` / planned: requests that did not complete count as not met.
    pub attainment: Option<f64>,
    /// 95 % interval of `attainment`; absent if planned requests were not sent.
    pub attainment_ci: Option<[f64; 2]>,
}
