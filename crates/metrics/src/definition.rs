//! The form of a metric's definition. Never a formula itself: the formulas are in the metrics' files.

use std::fmt;

use serde::Serialize;

use inferometer_model::time::Nanos;
use inferometer_stats::Weighted;

use super::{Origin, Statistic, Timeline, Widths, Window};

/// A metric: what its name means, and how it is computed.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Definition {
    /// The stable name, such as `ttft_from_due`.
    pub name: &'static str,
    /// The formula, in the terms of a record.
    pub formula: &'static str,
    /// The unit of its values. The metrics in results have milliseconds, or milliseconds per token.
    pub unit: Unit,
    /// The instant from which it counts; absent if there is none.
    pub origin: Option<Origin>,
    /// Which direction is better; absent if neither is.
    pub direction: Option<Direction>,
    /// The requests that it covers.
    pub over: CoveredRequests,
    /// What a reader must know, and when it is absent.
    pub notes: &'static str,
    /// Where the definition comes from.
    pub source: &'static str,
    /// Increased whenever the same records would give another value.
    pub version: u32,
    /// The formula, as a function.
    #[serde(skip)]
    pub value: Value,
    /// The name in tables and plots, such as `TTFT`.
    #[serde(skip)]
    pub title: &'static str,
    /// The key of its distribution in the results of a pass, such as `ttft_ms`; absent if it is not in
    /// results. `schema/summary.schema.json` has the key too, and is written by hand.
    #[serde(skip)]
    pub result_key: Option<&'static str>,
    /// Whether the results of each class of requests have its distribution too. If so, its columns in
    /// tables are also drawn over loads and compared between runs.
    #[serde(skip)]
    pub of_classes: bool,
    /// Whether it is a time between tokens. A pass does not have it if its streams came in bundles
    /// ([`crate::Gaps`]).
    #[serde(skip)]
    pub of_gaps: bool,
    /// Whether objectives may name it.
    #[serde(skip)]
    pub judged: JudgedOn,
    /// Its columns in tables of passes. A metric with such a column is drawn as a distribution too.
    #[serde(skip)]
    pub in_tables: &'static [Statistic],
    /// By how much the client can be wrong about it; absent if it depends on the client's own instants
    /// only.
    #[serde(skip)]
    pub bound: Option<ErrorBound>,
    /// Its column in exported rows of requests.
    #[serde(skip)]
    pub exported: Option<Exported>,
    /// How it is shown during a pass; absent if it is not.
    #[serde(skip)]
    pub live: Option<Live>,
}

/// Two definitions are equal if their names are.
impl PartialEq for Definition {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Definition {}

impl Definition {
    /// The defaults of a definition: a latency in milliseconds over completed requests, which is not in
    /// results.
    pub const DEFAULT: Self = Self {
        name: "",
        formula: "",
        unit: Unit::Milliseconds,
        origin: None,
        direction: Some(Direction::Lower),
        over: CoveredRequests::Completed,
        notes: "",
        source: "Inferometer.",
        version: 1,
        value: Value::Pass(|_| None),
        title: "",
        result_key: None,
        of_classes: false,
        of_gaps: false,
        judged: JudgedOn::No,
        in_tables: &[],
        bound: None,
        exported: None,
        live: None,
    };
}

/// By how much the client can be wrong about a metric: an arrival may be earlier than its stamp, but
/// never later.
#[derive(Clone, Copy, Debug)]
pub struct ErrorBound {
    /// The key under which results have the error bounds of single values, in microseconds:
    /// `ttft_bound_us`; absent if another metric has the same bounds.
    pub key: Option<&'static str>,
    /// For each value of a completed request, in their order: appends how far the true value can be from
    /// it.
    pub of: fn(&Timeline<'_>, &Widths, &mut Vec<Slack>),
}

/// How far the true value can be from a measured one, in its unit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Slack {
    /// By how much the true value can be smaller.
    pub below: f64,
    /// By how much it can be larger.
    pub above: f64,
    /// How many tokens or events the value stands for.
    pub weight: f64,
}

impl Slack {
    /// The slack of a single value of a request, which can only be too large.
    pub fn below(below: f64) -> Self {
        Self { below, above: 0.0, weight: 1.0 }
    }

    /// The larger of both distances.
    pub fn larger(self) -> f64 {
        self.below.max(self.above)
    }
}

/// The column of a metric in exported rows of requests, under its `result_key`.
#[derive(Clone, Copy, Debug)]
pub struct Exported {
    /// Its index among the columns of metrics. Columns never move: a new one comes last.
    pub place: u8,
    /// What it means, in a sentence.
    pub about: &'static str,
}

/// How a metric is shown during a pass.
#[derive(Clone, Copy, Debug)]
pub struct Live {
    /// Its index among the shown metrics.
    pub place: u8,
    /// The name of its Prometheus metric family, in seconds: `time_to_first_token_seconds`.
    pub family: &'static str,
    /// What the family counts, in a sentence.
    pub help: &'static str,
    /// The upper bounds of the family's histogram buckets, in seconds.
    pub bounds_s: &'static [f64],
    /// The statistics that views show. A metric with several of them has its distribution drawn too.
    pub watched: &'static [Statistic],
}

/// Whether objectives may name a metric.
#[derive(Clone, Copy, Debug)]
pub enum JudgedOn {
    /// They may not.
    No,
    /// On the figures of a pass only.
    OnPasses,
    /// On the figures of a pass, and on each request.
    OnRequests(OnRequests),
}

/// How a request is judged by a metric.
#[derive(Clone, Copy, Debug)]
pub struct OnRequests {
    /// The value of a completed request; a request without one does not meet an upper limit.
    pub value: fn(&Timeline<'_>) -> Option<f64>,
    /// The least possible value of a request in flight; 0 if nothing is known of it.
    pub at_least: fn(&Pending) -> f64,
    /// Whether it can only be judged on a stream.
    pub needs_stream: bool,
}

/// A request in flight at an instant, in the best case: as if its end, and its first token if there was
/// none, came at this instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// When it was due.
    pub due: Nanos,
    /// When it was sent; absent if it was not.
    pub sent: Option<Nanos>,
    /// When its first token came; if there was none, the instant itself.
    pub first: Nanos,
    /// The instant.
    pub at: Nanos,
}

/// Which direction is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// A smaller value is better.
    Lower,
    /// A larger value is better.
    Higher,
}

/// The requests that a metric covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CoveredRequests {
    /// Requests that completed; failed ones are counted separately.
    Completed,
    /// Every request that was sent, whatever its outcome.
    Sent,
}

/// The unit of a metric's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum Unit {
    /// Milliseconds.
    #[serde(rename = "ms")]
    Milliseconds,
    /// Milliseconds per token.
    #[serde(rename = "ms/token")]
    MillisecondsPerToken,
    /// Seconds.
    #[serde(rename = "s")]
    Seconds,
    /// Tokens per second.
    #[serde(rename = "tokens/s")]
    TokensPerSecond,
    /// Requests per second.
    #[serde(rename = "requests/s")]
    RequestsPerSecond,
    /// Requests.
    #[serde(rename = "requests")]
    Requests,
    /// A share, from 0 to 1.
    #[serde(rename = "share")]
    Share,
    /// A share in percent.
    #[serde(rename = "%")]
    Percent,
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Milliseconds => "ms",
            Self::MillisecondsPerToken => "ms/token",
            Self::Seconds => "s",
            Self::TokensPerSecond => "tokens/s",
            Self::RequestsPerSecond => "requests/s",
            Self::Requests => "requests",
            Self::Share => "share",
            Self::Percent => "%",
        })
    }
}

/// How a metric is computed.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// One value per request, or none.
    Request(fn(&Timeline<'_>) -> Option<f64>),
    /// Several values per request, each with the number of tokens or events it stands for.
    Pooled(fn(&Timeline<'_>, &mut Vec<Weighted>)),
    /// One value per pass, or none.
    Pass(fn(&Window) -> Option<f64>),
}

impl Value {
    /// The value of a request; absent if requests have several values or none.
    pub fn of_request(&self, timeline: &Timeline<'_>) -> Option<f64> {
        match self {
            Self::Request(of) => of(timeline),
            Self::Pooled(_) | Self::Pass(_) => None,
        }
    }

    /// Appends the values of a request, each with the number of tokens or events it stands for.
    pub fn append(&self, timeline: &Timeline<'_>, values: &mut Vec<Weighted>) {
        match self {
            Self::Request(of) => {
                values.extend(of(timeline).map(|value| Weighted { value, weight: 1.0 }));
            }
            Self::Pooled(append) => append(timeline, values),
            Self::Pass(_) => {}
        }
    }
}
