//! The form of a metric's definition. Never a formula itself: those stand in the metrics' files.

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
    /// The formula, in the words of the record.
    pub formula: &'static str,
    /// The unit of its values: of those that results hold milliseconds, or milliseconds per token.
    pub unit: Unit,
    /// The instant from which it counts; absent where it counts from none.
    pub origin: Option<Origin>,
    /// Which way is better; absent where neither is.
    pub direction: Option<Direction>,
    /// The requests that it covers.
    pub over: Over,
    /// What a reader has to know, and when it is absent.
    pub notes: &'static str,
    /// Where the definition comes from.
    pub source: &'static str,
    /// Raised whenever the same records would give another value.
    pub version: u32,
    /// The formula, as a function.
    #[serde(skip)]
    pub value: Value,
    /// The name in tables and plots, such as `TTFT`.
    #[serde(skip)]
    pub title: &'static str,
    /// The key of its distribution in the results of a pass, such as `ttft_ms`; absent where
    /// results hold none. `schema/summary.schema.json` names it too, and is written by hand.
    #[serde(skip)]
    pub result_key: Option<&'static str>,
    /// Whether the results of each class of requests hold its distribution too. If so, its columns in
    /// tables are also drawn over loads and compared between runs.
    #[serde(skip)]
    pub of_classes: bool,
    /// Whether it is a time between tokens, which a pass does not have where its streams came in bundles
    /// ([`crate::Gaps`]).
    #[serde(skip)]
    pub of_gaps: bool,
    /// Whether objectives may name it.
    #[serde(skip)]
    pub judged: Judged,
    /// The columns that tables of passes have of it. A metric with such a column is drawn as a whole too.
    #[serde(skip)]
    pub in_tables: &'static [Statistic],
    /// How far the client can be off with it; absent where it is of the client's own instants alone.
    #[serde(skip)]
    pub bound: Option<ErrorBound>,
    /// Its column in exported rows of requests.
    #[serde(skip)]
    pub exported: Option<Exported>,
    /// How it is shown while a pass goes on.
    #[serde(skip)]
    pub live: Option<Live>,
}

/// The name says which it is.
impl PartialEq for Definition {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Definition {}

impl Definition {
    /// What definitions leave out: a latency in milliseconds over completed requests, in no results.
    pub const DEFAULT: Self = Self {
        name: "",
        formula: "",
        unit: Unit::Milliseconds,
        origin: None,
        direction: Some(Direction::Lower),
        over: Over::Completed,
        notes: "",
        source: "Inferometer.",
        version: 1,
        value: Value::Pass(|_| None),
        title: "",
        result_key: None,
        of_classes: false,
        of_gaps: false,
        judged: Judged::No,
        in_tables: &[],
        bound: None,
        exported: None,
        live: None,
    };
}

/// How far the client can be off with a metric, for no arrival is later than its stamp.
#[derive(Clone, Copy, Debug)]
pub struct ErrorBound {
    /// The key under which results hold how far off single values can be, in microseconds:
    /// `ttft_bound_us`; absent where another metric's says it.
    pub key: Option<&'static str>,
    /// Appends, for each value of a completed request in their order, how far from it the truth can
    /// lie.
    pub of: fn(&Timeline<'_>, &Widths, &mut Vec<Slack>),
}

/// How far from a value the truth can lie, in the value's unit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Slack {
    /// How much smaller the truth can be.
    pub below: f64,
    /// How much larger.
    pub above: f64,
    /// How many tokens or events the value stands for.
    pub weight: f64,
}

impl Slack {
    /// That of one value of a request, which can only be too large.
    pub fn below(below: f64) -> Self {
        Self { below, above: 0.0, weight: 1.0 }
    }

    /// How far from the value the truth can lie on either side.
    pub fn larger(self) -> f64 {
        self.below.max(self.above)
    }
}

/// The column of a metric in exported rows of requests, under its `result_key`.
#[derive(Clone, Copy, Debug)]
pub struct Exported {
    /// Its place among the columns of metrics. Columns are never moved: a new one comes last.
    pub place: u8,
    /// What it means, in a sentence.
    pub about: &'static str,
}

/// How a metric is shown while a pass goes on.
#[derive(Clone, Copy, Debug)]
pub struct Live {
    /// Its place among the metrics that are shown.
    pub place: u8,
    /// The name of its family for monitors, in seconds: `time_to_first_token_seconds`.
    pub family: &'static str,
    /// What the family counts, in a sentence.
    pub help: &'static str,
    /// The upper bounds between which monitors count, in seconds.
    pub bounds_s: &'static [f64],
    /// The statistics that views show; of a metric with several its distribution is drawn too.
    pub watched: &'static [Statistic],
}

/// Whether objectives may name a metric.
#[derive(Clone, Copy, Debug)]
pub enum Judged {
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
    /// The least that the value of a request in flight can come to; 0 where nothing is known of it.
    pub at_least: fn(&Pending) -> f64,
    /// Whether it can only be judged on a stream.
    pub needs_stream: bool,
}

/// A request in flight at an instant, at best: as if its first token, where none had come, and its
/// end came then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// When it was due.
    pub due: Nanos,
    /// When it was sent; absent where it had not been.
    pub sent: Option<Nanos>,
    /// When its first token came, or would have to come now.
    pub first: Nanos,
    /// The instant.
    pub at: Nanos,
}

/// Which way is better.
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
pub enum Over {
    /// Requests that completed; failed ones are counted beside.
    Completed,
    /// Every request that was sent, whatever became of it.
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
    /// The value of a request; none where requests have several values or none.
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
