//! Objectives on the figures of a pass: `ttft_p99<500ms,failures<1%`.
//!
//! Never here: objectives on single requests (goodput is another metric).

use std::borrow::Cow;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::definition::{Definition, JudgedOn, OnRequests, Unit, Value};
use crate::registry;

mod parse;

pub use crate::statistic::Statistic;
pub use parse::{SloError, parse};
pub use parse::{limit_of, quantity, split};

/// One objective: a statistic of a metric that must stay below or above a limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Objective {
    /// The text as it was written.
    pub text: String,
    /// The metric that is judged.
    pub metric: JudgedMetric,
    /// Its statistic; only metrics with one value per request have one.
    pub statistic: Option<Statistic>,
    /// Which side of the limit meets it.
    pub comparison: Comparison,
    /// The limit in the metric's unit: milliseconds, a percentage, or 1/s.
    pub limit: f64,
    /// The unit in which it was written, and in which its result is stated.
    pub unit: LimitUnit,
}

/// A metric that objectives may name. It serialises as its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JudgedMetric(&'static Definition);

impl JudgedMetric {
    /// The metric of this name, if objectives may name it.
    pub fn of_name(name: &str) -> Option<Self> {
        registry::judged().find(|metric| metric.name == name).map(Self)
    }

    /// A metric that objectives may name.
    ///
    /// # Panics
    /// If they may not.
    pub fn of(metric: &'static Definition) -> Self {
        assert!(!matches!(metric.judged, JudgedOn::No), "invariant: {} is judged", metric.name);
        Self(metric)
    }

    /// The names of all these metrics, in the order of messages.
    pub fn names() -> impl Iterator<Item = &'static str> {
        registry::judged().map(|metric| metric.name)
    }

    /// The name in objectives.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// Its definition.
    pub fn definition(self) -> &'static Definition {
        self.0
    }

    /// How a request is judged by it; absent if requests have no value of their own.
    pub fn on_requests(self) -> Option<&'static OnRequests> {
        match &self.0.judged {
            JudgedOn::OnRequests(how) => Some(how),
            JudgedOn::No | JudgedOn::OnPasses => None,
        }
    }

    /// Whether it is a rate: requests or tokens per second.
    pub fn is_throughput(self) -> bool {
        matches!(self.0.unit, Unit::RequestsPerSecond | Unit::TokensPerSecond)
    }

    /// Whether it has one value per request or token, so that a statistic must be named.
    pub fn is_distribution(self) -> bool {
        !matches!(self.0.value, Value::Pass(_))
    }
}

impl Serialize for JudgedMetric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.name)
    }
}

impl<'de> Deserialize<'de> for JudgedMetric {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = Cow::<'de, str>::deserialize(deserializer)?;
        Self::of_name(&name)
            .ok_or_else(|| D::Error::custom(format!("`{name}` is not a metric of objectives")))
    }
}

/// Which side of the limit meets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Comparison {
    /// Below.
    #[serde(rename = "<")]
    Below,
    /// Below or equal.
    #[serde(rename = "<=")]
    AtMost,
    /// Above.
    #[serde(rename = ">")]
    Above,
    /// Above or equal.
    #[serde(rename = ">=")]
    AtLeast,
}

impl Comparison {
    /// Whether a measured value meets the limit.
    pub fn holds(self, measured: f64, limit: f64) -> bool {
        match self {
            Self::Below => measured < limit,
            Self::AtMost => measured <= limit,
            Self::Above => measured > limit,
            Self::AtLeast => measured >= limit,
        }
    }
}

/// The unit in which a limit was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum LimitUnit {
    /// Microseconds.
    #[serde(rename = "us")]
    Microseconds,
    /// Milliseconds.
    #[serde(rename = "ms")]
    Milliseconds,
    /// Seconds.
    #[serde(rename = "s")]
    Seconds,
    /// Percent of the planned requests.
    #[serde(rename = "%")]
    Percent,
    /// Requests or tokens per second.
    #[serde(rename = "1/s")]
    PerSecond,
}

impl LimitUnit {
    /// Its text in objectives.
    pub fn name(self) -> &'static str {
        match self {
            Self::Microseconds => "us",
            Self::Milliseconds => "ms",
            Self::Seconds => "s",
            Self::Percent => "%",
            Self::PerSecond => "1/s",
        }
    }

    /// Its size in the metric's own unit.
    pub fn in_metric_units(self) -> f64 {
        match self {
            Self::Microseconds => 1e-3,
            Self::Seconds => 1e3,
            Self::Milliseconds | Self::Percent | Self::PerSecond => 1.0,
        }
    }
}

#[cfg(test)]
mod tests;
