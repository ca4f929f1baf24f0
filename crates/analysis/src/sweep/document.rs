//! The answer of a sweep as stored in results.

use inferometer_model::CellPlan;
use inferometer_plan::search::Over;
use serde::{Deserialize, Serialize};

use super::{estimate::FigureEstimate, outcome::SweepEnding};
use crate::ModelRange;

/// A figure with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FigureInterval {
    /// The value of the figure.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

impl FigureInterval {
    pub(super) fn of(found: Option<FigureEstimate>, confidence: f64) -> Option<Self> {
        let found = found?;
        let [low, high] = found.interval(confidence);
        let ends = Self { value: found.value, low: low.max(0.0), high };
        [ends.value, low, high].iter().all(|end| end.is_finite()).then_some(ends)
    }

    /// Converts the figure and its interval to another unit.
    pub(super) fn map(self, of: impl Fn(f64) -> f64) -> Self {
        let (a, b) = (of(self.low), of(self.high));
        Self { value: of(self.value), low: a.min(b), high: a.max(b) }
    }
}

/// The answer of a sweep for one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepAnswer {
    /// Input length of the cell in tokens.
    pub input_length: u32,
    /// Output length of the cell in tokens.
    pub output_length: u32,
    /// The load that was varied: requests in flight, or requests per second.
    pub by: Over,
    /// The answer in a few sentences.
    pub answer: String,
    /// The probability that an interval covers the true value, 0 to 1.
    pub confidence: f64,
    /// How the sweep ended.
    pub outcome: SweepEnding,
    /// The throughput at saturation; absent if the server is not shown to be saturated.
    pub saturation: Option<SaturationAnswer>,
    /// The knee; absent if the server is not shown to be saturated, or if the knee is unknown.
    pub knee: Option<KneeAnswer>,
    /// The highest load that the knee certainly exceeds, if no saturation is shown; absent if no such load is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knee_above: Option<f64>,
    /// For each objective of the plan, or for the default objective: up to which load it was met.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub within: Vec<WithinAnswer>,
    /// The range of a predicted saturation, in requests per second, that includes the error of the engine's model; absent
    /// for measured answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelRange>,
    /// Why the server refused every request: the HTTP status and the server's error. Absent if the server did not
    /// refuse every request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// What the server said when it refused requests because the client sends too many; absent if it refused none for this
    /// reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_limit: Option<String>,
    /// The number of requests of all trials.
    pub requests: u64,
    /// The number of trials.
    pub trials: u32,
    /// The duration of all trials together, in seconds.
    pub time_s: f64,
    /// The number of cards that the server runs on; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpus: Option<u32>,
    /// The figures at each load, in the order of loads. In a sweep by rate, one request in flight comes before all
    /// rates.
    pub levels: Vec<LevelAnswer>,
}

/// The loads at which an objective was met.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WithinAnswer {
    /// The objective, such as `ttft_p95<1s`.
    pub objective: String,
    /// The unit of the measured values, such as `s`; empty if they have none.
    pub unit: String,
    /// The highest load up to which every load met the objective, with the measured value; absent if the lowest load
    /// missed it.
    pub met: Option<LoadValue>,
    /// The next higher load, which missed the objective; absent if no load missed it. A load also misses it if its
    /// requests arrive faster than they end, or if more of its requests failed than may be beyond the percentile.
    pub missed: Option<LoadValue>,
    /// Whether requests are too few, or a value too uncertain, to say at one of these loads whether the objective is
    /// met. Fewer than five requests beyond a percentile are too few.
    pub is_uncertain: bool,
}

/// A load, and a value measured at this load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadValue {
    /// The load: requests in flight, or requests per second.
    pub load: f64,
    /// The value.
    pub value: f64,
}

/// The throughput of a saturated server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SaturationAnswer {
    /// The load at which this throughput was measured.
    pub load: f64,
    /// Completed requests per second.
    pub requests_per_s: FigureInterval,
    /// Output tokens of completed requests per second.
    pub output_tokens_per_s: Option<FigureInterval>,
    /// Mean time from the due time to the end at this load, in milliseconds. Absent if the load is a rate at which
    /// requests arrive faster than they end, because this time then grows without limit.
    pub latency_ms: Option<FigureInterval>,
    /// A higher load at which throughput is clearly lower; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub falls_at: Option<f64>,
}

/// The lowest load with a given share of the throughput at saturation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KneeAnswer {
    /// The best estimate of this load.
    pub load: f64,
    /// The lower end of the interval of `load`; absent if the knee may lie below the lowest tried load.
    pub low: Option<f64>,
    /// The upper end of the interval of `load`.
    pub high: f64,
    /// The share of the throughput at saturation, 0 to 1.
    pub share: f64,
    /// Mean latency at the knee divided by the mean latency at `latency_of`; absent if unknown.
    pub latency_ratio: Option<f64>,
    /// The load with which the latency is compared. It is the lowest load whose throughput does not differ
    /// significantly from the throughput at saturation. In a sweep by rate, it is one request in flight.
    pub latency_of: f64,
}

/// The figures at one load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevelAnswer {
    /// The unit of the load.
    pub by: Over,
    /// The load: requests in flight, or requests per second.
    pub load: f64,
    /// The number of trials at this load.
    pub trials: u32,
    /// The number of requests of these trials.
    pub requests: u64,
    /// The number of requests that count. Requests of start-up and drain do not count.
    pub counted: u64,
    /// The number of completed requests of these trials, start-up and drain included.
    pub completed: u64,
    /// The number of requests that the server refused because the client sends too many (HTTP status 429).
    #[serde(default, skip_serializing_if = "inferometer_model::is_default")]
    pub rate_limited: u64,
    /// The number of requests of these trials that the time limit --max-time cancelled. They are in `requests`.
    #[serde(default, skip_serializing_if = "inferometer_model::is_default")]
    pub cancelled: u64,
    /// Whether a trial was long enough for a steady state.
    pub is_settled: bool,
    /// Whether requests arrived faster than they ended.
    pub is_overloaded: bool,
    /// Completed requests per second.
    pub requests_per_s: Option<FigureInterval>,
    /// Output tokens of completed requests per second.
    pub output_tokens_per_s: Option<FigureInterval>,
    /// Mean time to first token. Like `tpot_ms` and `latency_ms`, it is absent if requests arrived faster than they
    /// ended.
    pub ttft_ms: Option<FigureInterval>,
    /// Mean time per output token after the first.
    pub tpot_ms: Option<FigureInterval>,
    /// Mean time from the due time to the end.
    pub latency_ms: Option<FigureInterval>,
    /// Output tokens per second that one user sees after the first token: 1000 / `tpot_ms`.
    pub tokens_per_s_per_user: Option<FigureInterval>,
    /// Output tokens per second divided by the number of cards; absent if the number of cards is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_per_s_per_gpu: Option<FigureInterval>,
    /// Whether no other load is better in one of `output_tokens_per_s` and `tokens_per_s_per_user`, and at least as
    /// good in the other.
    pub is_on_front: bool,
    /// Whether the load is not on the front, but no other load is better in one of the two by more than both intervals,
    /// and at least as good in the other.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ties_front: bool,
}

impl SweepAnswer {
    /// The requested lengths of the cell.
    pub fn cell(&self) -> CellPlan {
        CellPlan { input_length: self.input_length, output_length: self.output_length }
    }
}
