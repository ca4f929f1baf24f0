//! The adapters that requests name, as data.

use serde::{Deserialize, Serialize};

/// A mix of adapters. Each request names one of them as its model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdapterPlan {
    /// The names, by rank.
    pub names: Vec<String>,
    /// The weight of each rank; a share is a weight divided by their sum.
    pub weights: Vec<f64>,
    /// After so many requests, each name takes the rank of the one before it; absent if ranks stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shift: Option<u32>,
}
