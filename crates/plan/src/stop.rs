//! The resolved options that end a pass early.

use serde::{Deserialize, Serialize};

use crate::spec::{Mistakes, Spec, values};

/// The conditions that end a pass before all its requests are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StopPlan {
    /// End a pass with arrivals at a constant rate as soon as the records show that requests arrive faster
    /// than they end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub when_saturated: bool,
    /// End a pass as soon as more than this share of its planned requests has failed; from 0 to 1. If a pass has
    /// no planned number of requests, the share is that of the requests that have ended, at least 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_error_rate: Option<f64>,
}

impl StopPlan {
    pub(crate) fn of(spec: &Spec, mistakes: &mut Mistakes) -> Self {
        let given = spec.stop_at_error_rate.as_ref();
        Self {
            when_saturated: spec.stop_when_saturated.unwrap_or(false),
            at_error_rate: mistakes.read("stop_at_error_rate", given, values::share),
        }
    }

    /// Whether passes are never ended early.
    pub fn is_never(&self) -> bool {
        *self == Self::default()
    }
}
