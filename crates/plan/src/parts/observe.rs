//! The resolved options for observing the server and its cards while passes run.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use inferometer_model::{Url, time::nanoseconds};

/// What is observed in addition to the requests, and how often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservePlan {
    /// The address of the server's metrics.
    pub metrics: MetricsAt,
    /// The user's names of metrics, by quantity. They replace the built-in names of these quantities.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub names: BTreeMap<String, String>,
    /// The shortest pause between two samples of the server's metrics and of the cards during a pass.
    #[serde(rename = "period_ns", with = "nanoseconds")]
    pub period: Duration,
    /// The address of the DCGM exporter on the server's machine. `Url::prefix` is its path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dcgm: Option<Url>,
    /// The numbers of the cards that the server uses; absent if the user did not give them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cards: Option<BTreeSet<u32>>,
}

/// The addresses of a server's metrics.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetricsAt {
    /// The server's metrics are not read.
    #[serde(rename = "nowhere")]
    Off,
    /// The usual path on the server under test, if it has metrics there.
    Usual,
    /// Another path on the server under test.
    Path(String),
    /// Another address. `Url::prefix` is its path.
    Address(Url),
    /// Several addresses, each with its own metrics, such as those of prefill and decode pools.
    Addresses(Vec<Url>),
}

/// The default period of one second. It is short enough to show how a batch fills up, and long enough to
/// add little load to the server.
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
