//! When a plan ends a pass early.

use serde::{Deserialize, Serialize};

/// What ends a pass before all of its requests are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StopPlan {
    /// End a pass at a rate as soon as requests are shown to arrive faster than they end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub when_saturated: bool,
    /// End a pass as soon as a larger share of its requests has failed; from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_error_rate: Option<f64>,
}

impl StopPlan {
    /// Whether passes always run to their ends.
    pub fn is_never(&self) -> bool {
        *self == Self::default()
    }
}
