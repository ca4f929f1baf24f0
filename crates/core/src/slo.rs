//! Objectives on the figures of a pass: `ttft_p99<500ms`.

use serde::{Deserialize, Serialize};

/// One objective: a statistic of a metric that must stay below or above a limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Objective {
    /// As it was written.
    pub text: String,
}
