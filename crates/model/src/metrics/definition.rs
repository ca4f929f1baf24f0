//! The types that define a metric. The formulas themselves are in the metrics' files.

use derive_more::Display;
use serde::{Serialize, Serializer};

use super::{Origin, PassData, Statistic, Timeline, job_data::JobTimes};
use crate::{Nanos, stats::Weighted};

/// A metric: what its name means, and how it is computed.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Definition {
    /// The stable name, such as `ttft_from_due`.
    pub name: &'static str,
    /// The formula as text, in terms of the fields of a record or of other metrics.
    pub formula: &'static str,
    /// The unit of the values.
    pub unit: Unit,
    /// The instant from which the metric counts; absent if its formula has no such instant.
    pub origin: Option<Origin>,
    /// Whether smaller or larger values are better; absent if neither is better.
    pub direction: Option<Direction>,
    /// The requests that the metric covers.
    pub over: CoveredRequests,
    /// Notes for the reader of a value, for example on cases in which there is no value.
    pub notes: &'static str,
    /// The tool or the publication from which the definition comes.
    pub source: &'static str,
    /// The version of the formula. It increases whenever the same records would give another value.
    pub version: u32,
    /// The formula as a function.
    #[serde(skip)]
    pub value: Value,
    /// The metric with the same values, if there is one for most requests.
    #[serde(skip)]
    pub equals: Option<Equals>,
    /// The name in tables and plots, such as `TTFT`.
    #[serde(skip)]
    pub title: &'static str,
    /// The metric's key in the results of a pass, such as `ttft_ms`. Under it stands the distribution of the values,
    /// or the value of a metric of whole passes. Never change a key: stored results have it.
    #[serde(skip)]
    pub result_key: &'static str,
    /// Whether the results of each class of requests also have the metric's distribution. If so, the metric's columns
    /// in tables are also plotted over loads and compared between runs.
    #[serde(skip)]
    pub of_classes: bool,
    /// Whether the metric is a time between tokens. A pass has no values of such a metric if too many of its streams
    /// came in bundles ([`crate::metrics::Gaps`]).
    #[serde(skip)]
    pub of_gaps: bool,
    /// Whether objectives may name the metric.
    #[serde(skip)]
    pub judged: JudgedOn,
    /// The columns in tables of passes of a metric of requests. The distribution of a metric with such a column is
    /// also plotted.
    #[serde(skip)]
    pub in_tables: &'static [Statistic],
    /// Whether only some requests have values, such as those with reasoning. Results of a pass without such requests
    /// leave the metric out.
    #[serde(skip)]
    pub optional: bool,
    /// The statistics of a metric that only passes with reasoning have in tables and in comparisons.
    #[serde(skip)]
    pub when_reasoning: &'static [Statistic],
    /// The heading of the column in tables of passes of a metric of whole passes; absent if it has none.
    #[serde(skip)]
    pub column: Option<&'static str>,
    /// Whether comparisons of runs have a metric of whole passes. The more figures a comparison has, the larger must
    /// be a difference that is not by chance. So a figure that follows from others is not compared.
    #[serde(skip)]
    pub compared: bool,
    /// How large the error of the client's values can be. Absent if the metric depends only on the client's own
    /// instants.
    #[serde(skip)]
    pub bound: Option<ErrorBound>,
    /// The index of the metric's column, its `result_key`, among the columns of metrics in exported rows of requests,
    /// from 0; absent if it has none. The index never changes: a new column is added at the end.
    #[serde(skip)]
    pub exported: Option<u8>,
    /// How the metric is shown during a pass; absent if it is not shown.
    #[serde(skip)]
    pub live: Option<Live>,
}

/// Two definitions are equal if their names are equal.
impl PartialEq for Definition {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Definition {}

impl Definition {
    /// The defaults of a definition: a latency in milliseconds over completed requests, without a key in
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
        equals: None,
        title: "",
        result_key: "",
        of_classes: false,
        of_gaps: false,
        judged: JudgedOn::No,
        in_tables: &[],
        optional: false,
        when_reasoning: &[],
        column: None,
        compared: false,
        bound: None,
        exported: None,
        live: None,
    };
}

/// A metric has the same values and error margins as another one, for requests of some kind. While a pass has only such
/// requests, its values are collected once.
#[derive(Clone, Copy, Debug)]
pub struct Equals {
    /// The other metric, which stands before this one in the list of metrics.
    pub metric: &'static Definition,
    /// Whether both have the same values of a completed request.
    pub of: fn(&Timeline<'_>) -> bool,
}

/// How large the error of the client's values of a metric can be. The true time of an arrival may be earlier than its
/// stamp, but never later.
#[derive(Clone, Copy, Debug)]
pub struct ErrorBound {
    /// The key under which results have the error bounds of single values, in microseconds, such as
    /// `ttft_bound_us`. Absent if results do not have these bounds.
    pub key: Option<&'static str>,
    /// Appends one [`ErrorMargin`] for each value of a completed request, in the order of the values.
    pub of: fn(&Timeline<'_>, &mut Vec<ErrorMargin>),
}

/// How far the true value can be from the measured value, in the unit of the metric.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ErrorMargin {
    /// By how much the true value can be smaller than the measured value.
    pub below: f64,
    /// By how much the true value can be larger than the measured value.
    pub above: f64,
    /// The number of tokens or events that the value represents.
    pub weight: f64,
}

impl ErrorMargin {
    /// The margin of a single value. The measured value is too large by at most `below`, and never too small.
    pub fn below(below: f64) -> Self {
        Self { below, above: 0.0, weight: 1.0 }
    }

    /// The larger of `below` and `above`.
    pub fn larger(self) -> f64 {
        self.below.max(self.above)
    }
}

/// How a metric is shown during a pass.
#[derive(Clone, Copy, Debug)]
pub struct Live {
    /// The index among the metrics that are shown during a pass, from 0.
    pub place: u8,
    /// The name of the metric family for Prometheus, such as `time_to_first_token_seconds`. Its values are in seconds.
    pub family: &'static str,
    /// The description of the family, in one sentence.
    pub help: &'static str,
    /// The upper bounds of the family's histogram buckets, in seconds.
    pub bounds_s: &'static [f64],
    /// The statistics that the live page shows. If a metric has several of them, the page also plots its distribution.
    pub watched: &'static [Statistic],
}

/// Whether objectives may name a metric.
#[derive(Clone, Copy, Debug)]
pub enum JudgedOn {
    /// Objectives may not name the metric.
    No,
    /// Objectives on the figures of a pass may name the metric.
    OnPasses,
    /// Objectives on the figures of a pass may name the metric, a percentile of jobs, and a search judges each job.
    OnJobs(OnJobs),
    /// Objectives on the figures of a pass and objectives on each request may name the metric.
    OnRequests(OnRequests),
}

/// How a search judges a job by a metric.
#[derive(Clone, Copy, Debug)]
pub struct OnJobs {
    /// The share of jobs that must meet the limit, from 0 to 1: that of the percentile.
    pub share: f64,
    /// The value of a job whose calls are all complete; `None` if its trace does not state what the metric needs.
    pub value: fn(&JobTimes) -> Option<f64>,
}

impl JudgedOn {
    /// Objectives may name a metric that exists only for streams. The arguments are fields of [`OnRequests`].
    pub const fn on_streams(
        value: fn(&Timeline<'_>) -> Option<f64>,
        at_least: fn(&Pending) -> f64,
    ) -> Self {
        Self::OnRequests(OnRequests { value, at_least, needs_stream: true })
    }

    /// Objectives may name a metric of any request. The arguments are fields of [`OnRequests`].
    pub const fn on_requests(
        value: fn(&Timeline<'_>) -> Option<f64>,
        at_least: fn(&Pending) -> f64,
    ) -> Self {
        Self::OnRequests(OnRequests { value, at_least, needs_stream: false })
    }
}

/// How a request is judged by a metric.
#[derive(Clone, Copy, Debug)]
pub struct OnRequests {
    /// The value of a completed request. A request without a value meets no objective of goodput. In a search, its
    /// value counts as infinite.
    pub value: fn(&Timeline<'_>) -> Option<f64>,
    /// A lower bound of the value of a request in flight; 0 if nothing is known about the value.
    pub at_least: fn(&Pending) -> f64,
    /// Whether the value exists only for streams.
    pub needs_stream: bool,
}

/// A request in flight at an instant, in the best case: as if the request ended at this instant. If no token
/// has arrived, the first token counts as arriving at this instant too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// When the request was due.
    pub due: Nanos,
    /// When the request was sent; absent if it was not.
    pub sent: Option<Nanos>,
    /// When the first token arrived; if there was none, the instant [`Pending::at`].
    pub first: Nanos,
    /// The instant at which the request is in flight.
    pub at: Nanos,
}

impl Pending {
    /// Milliseconds from the send to the first token; 0 if the request was not sent.
    pub fn first_after_sent_ms(&self) -> f64 {
        self.sent.map_or(0.0, |sent| self.first.ms_after(sent))
    }

    /// Milliseconds from the due time to the first token.
    pub fn first_after_due_ms(&self) -> f64 {
        self.first.ms_after(self.due)
    }
}

/// Whether smaller or larger values are better.
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
    /// Requests that completed; failed requests are counted separately.
    Completed,
    /// Every request that was sent, whatever its outcome.
    Sent,
    /// Every planned request, also those that were never sent.
    Planned,
}

/// The unit of a metric's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display)]
pub enum Unit {
    /// Milliseconds.
    #[display("ms")]
    Milliseconds,
    /// Milliseconds per token.
    #[display("ms/token")]
    MillisecondsPerToken,
    /// Seconds.
    #[display("s")]
    Seconds,
    /// Tokens per second.
    #[display("tokens/s")]
    TokensPerSecond,
    /// Requests per second.
    #[display("requests/s")]
    RequestsPerSecond,
    /// Requests.
    #[display("requests")]
    Requests,
    /// Jobs per hour.
    #[display("jobs/h")]
    JobsPerHour,
    /// A ratio: how many times as much.
    #[display("times")]
    Ratio,
    /// Tokens.
    #[display("tokens")]
    Tokens,
    /// A share, from 0 to 1.
    #[display("share")]
    Share,
    /// A share in percent.
    #[display("%")]
    Percent,
}

impl Serialize for Unit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Unit {
    /// The unit as a part of names, such as the columns of CSV files. Milliseconds per token are `ms`.
    pub fn in_names(self) -> &'static str {
        match self {
            Self::Milliseconds | Self::MillisecondsPerToken => "ms",
            Self::Seconds => "s",
            Self::TokensPerSecond => "tokens_per_s",
            Self::RequestsPerSecond => "requests_per_s",
            Self::Requests => "requests",
            Self::JobsPerHour => "jobs_per_h",
            Self::Ratio => "times",
            Self::Tokens => "tokens",
            Self::Share => "share",
            Self::Percent => "pct",
        }
    }
}

/// How a metric is computed.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// One value per request; `None` if the request has no value.
    Request(fn(&Timeline<'_>) -> Option<f64>),
    /// Several values per request, each with the number of tokens or events that it represents.
    Pooled(fn(&Timeline<'_>, &mut Vec<Weighted>)),
    /// One value per pass; `None` if the pass has no value.
    Pass(fn(&PassData) -> Option<f64>),
}

impl Value {
    /// The value of a pass; absent if the metric has values of requests.
    pub fn of_pass(&self, data: &PassData) -> Option<f64> {
        match self {
            Self::Pass(of) => of(data),
            Self::Request(_) | Self::Pooled(_) => None,
        }
    }

    /// The value of a request; absent if the metric has several values per request, or one per pass.
    pub fn of_request(&self, timeline: &Timeline<'_>) -> Option<f64> {
        match self {
            Self::Request(of) => of(timeline),
            Self::Pooled(_) | Self::Pass(_) => None,
        }
    }

    /// Appends the values of a request, each with the number of tokens or events that it represents.
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
