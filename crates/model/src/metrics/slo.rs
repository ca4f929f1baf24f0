//! Objectives on the figures of a pass: `ttft_p99<500ms,failures<1%`.
//!
//! Objectives on single requests, for goodput, are in [`crate::metrics::request_objective`].

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::metrics::definition::{JudgedOn, OnJobs, OnRequests, Unit, Value};
use crate::{Definition, metrics::registry};

mod parse;

pub use crate::metrics::statistic::Statistic;
pub(crate) use parse::each;
pub use parse::{SloError, by_value, limit_of, parse, quantity, split};

/// One objective: a statistic of a metric that must stay below or above a limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Objective {
    /// The objective as the user wrote it.
    pub text: String,
    /// The metric that is judged.
    pub metric: JudgedMetric,
    /// The statistic of the metric; absent if the metric has one value per pass.
    pub statistic: Option<Statistic>,
    /// Whether values below or above the limit meet the objective.
    pub comparison: Comparison,
    /// The limit in the metric's unit: milliseconds, a percentage, a share, tokens, or 1/s.
    pub limit: f64,
    /// The unit in which the user wrote the limit, and in which the result is shown.
    pub unit: LimitUnit,
}

/// A metric that objectives may name. It is serialized as its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JudgedMetric(&'static Definition);

impl JudgedMetric {
    /// The metric of this name; `None` if objectives may not name such a metric.
    pub fn of_name(name: &str) -> Option<Self> {
        registry::judged().find(|metric| metric.name == name).map(Self)
    }

    /// The metric of this definition.
    ///
    /// # Panics
    /// If objectives may not name the metric.
    pub fn of(metric: &'static Definition) -> Self {
        assert!(!matches!(metric.judged, JudgedOn::No), "invariant: {} is judged", metric.name);
        Self(metric)
    }

    /// The names of all metrics that objectives may name, in the order of the registry.
    pub fn names() -> impl Iterator<Item = &'static str> {
        registry::judged().map(|metric| metric.name)
    }

    /// The name of the metric in objectives.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// The definition of the metric.
    pub fn definition(self) -> &'static Definition {
        self.0
    }

    /// How a single request is judged by the metric; absent if no objective on requests may name it.
    pub fn on_requests(self) -> Option<&'static OnRequests> {
        match &self.0.judged {
            JudgedOn::OnRequests(how) => Some(how),
            JudgedOn::No | JudgedOn::OnPasses | JudgedOn::OnJobs(_) => None,
        }
    }

    /// How a job is judged by the metric; absent if it is not a percentile of jobs.
    pub fn on_jobs(self) -> Option<&'static OnJobs> {
        match &self.0.judged {
            JudgedOn::OnJobs(how) => Some(how),
            _ => None,
        }
    }

    /// Whether the metric has values only for streamed answers.
    pub fn needs_stream(self) -> bool {
        self.0.of_gaps || self.on_requests().is_some_and(|how| how.needs_stream)
    }

    /// Whether the metric is a rate of the whole pass: requests or tokens per second.
    pub fn is_throughput(self) -> bool {
        !self.is_distribution()
            && matches!(self.0.unit, Unit::RequestsPerSecond | Unit::TokensPerSecond)
    }

    /// Whether the metric has one value per request or token, so that an objective must name a statistic.
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
            .ok_or_else(|| D::Error::custom(format!("objectives cannot use a metric `{name}`")))
    }
}

/// Whether values below or above the limit meet the objective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Comparison {
    /// Values below the limit.
    #[serde(rename = "<")]
    Below,
    /// Values below the limit, and the limit itself.
    #[serde(rename = "<=")]
    AtMost,
    /// Values above the limit.
    #[serde(rename = ">")]
    Above,
    /// Values above the limit, and the limit itself.
    #[serde(rename = ">=")]
    AtLeast,
}

impl Comparison {
    /// The sign in objectives, such as `<=`.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Below => "<",
            Self::AtMost => "<=",
            Self::Above => ">",
            Self::AtLeast => ">=",
        }
    }

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

/// The unit in which the user wrote a limit.
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
    /// Percent, as in `failures<1%`.
    #[serde(rename = "%")]
    Percent,
    /// Requests or tokens per second.
    #[serde(rename = "1/s")]
    PerSecond,
    /// Jobs per hour.
    #[serde(rename = "1/h")]
    PerHour,
    /// How many times as much.
    #[serde(rename = "times")]
    Times,
    /// A share from 0 to 1.
    #[serde(rename = "share")]
    Share,
    /// Tokens.
    #[serde(rename = "tokens")]
    Tokens,
}

crate::names!(LimitUnit {
    Microseconds => "us", Milliseconds => "ms", Seconds => "s", Percent => "%", PerSecond => "1/s",
    PerHour => "1/h", Times => "times", Share => "share", Tokens => "tokens",
});

impl LimitUnit {
    /// The unit of a time with this name; `None` if there is no such unit.
    fn of_time(name: &str) -> Option<Self> {
        [Self::Microseconds, Self::Milliseconds, Self::Seconds]
            .into_iter()
            .find(|unit| unit.name() == name)
    }

    /// The factor from this unit to the unit of the metric, such as 1e-3 from microseconds to milliseconds.
    pub fn in_metric_units(self) -> f64 {
        match self {
            Self::Microseconds => 1e-3,
            Self::Seconds => 1e3,
            _ => 1.0,
        }
    }
}

#[cfg(test)]
mod tests;
