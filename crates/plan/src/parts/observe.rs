//! What is asked of the server and its cards while passes run, as far as the plan knows it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use inferometer_model::time::nanoseconds;

use super::Url;

/// What is asked beside the measurement, and how often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservePlan {
    /// Where the server's metrics are.
    pub metrics: MetricsAt,
    /// Names of metrics that no engine known here has, by quantity.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub names: BTreeMap<String, String>,
    /// How long to wait between two questions, at least.
    #[serde(rename = "period_ns", with = "nanoseconds")]
    pub period: Duration,
    /// The DCGM exporter of the server's machine; its path is the prefix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dcgm: Option<Url>,
    /// The cards that the server uses, by their numbers; absent where nobody said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cards: Option<BTreeSet<u32>>,
}

/// Where a server's metrics are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetricsAt {
    /// They are not asked for.
    Nowhere,
    /// The usual path of the server itself, if there is something.
    Usual,
    /// A path of the server itself.
    Path(String),
    /// Another address; its path is the prefix.
    Address(Url),
    /// Several: each has metrics of its own, as pools of prefill and of decode have.
    Addresses(Vec<Url>),
}

/// A second: fine enough to see a batch fill, and rare enough to cost the server little.
const PERIOD: Duration = Duration::from_secs(1);

impl Default for ObservePlan {
    fn default() -> Self {
        Self {
            metrics: MetricsAt::Usual,
            names: BTreeMap::new(),
            period: PERIOD,
            dcgm: None,
            cards: None,
        }
    }
}

impl ObservePlan {
    /// Whether nothing else was asked for, so that plans of versions without it have the hash that
    /// they had.
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
