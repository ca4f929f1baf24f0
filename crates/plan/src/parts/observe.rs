//! The resolved options for observing the server and its cards while passes run.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use inferometer_model::time::nanoseconds;

use super::Url;

/// What is observed besides the measurement, and how often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservePlan {
    /// The address of the server's metrics.
    pub metrics: MetricsAt,
    /// Names of metrics by quantity, for engines that are not known here.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub names: BTreeMap<String, String>,
    /// The shortest time between two questions.
    #[serde(rename = "period_ns", with = "nanoseconds")]
    pub period: Duration,
    /// The DCGM exporter of the server's machine; its path is in the prefix of the address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dcgm: Option<Url>,
    /// The numbers of the cards that the server uses; absent if they were not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cards: Option<BTreeSet<u32>>,
}

/// The addresses of a server's metrics.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetricsAt {
    /// Metrics are not asked for.
    Nowhere,
    /// The usual path of the server itself, if it has metrics there.
    Usual,
    /// A path of the server itself.
    Path(String),
    /// Another address; its path is in the prefix.
    Address(Url),
    /// Several addresses, each with metrics of its own, such as those of prefill and decode pools.
    Addresses(Vec<Url>),
}

/// One second: short enough to see a batch fill up, and long enough to cost the server little.
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
    /// Whether all values are the defaults; plans then keep the hash of versions without this.
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
