//! The answer of a sweep as results contain it. Types only.

use inferometer_model::cell::CellPlan;
use inferometer_plan::search::Over;
use serde::{Deserialize, Serialize};

use super::estimate::FigureEstimate;
use super::outcome::SweepEnding;

/// A figure with the ends of its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ends {
    /// The figure.
    pub value: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Ends {
    pub(super) fn of(found: Option<FigureEstimate>, confidence: f64) -> Option<Self> {
        let found = found?;
        let [low, high] = found.interval(confidence);
        let ends = Self { value: found.value, low: low.max(0.0), high };
        [ends.value, low, high].iter().all(|end| end.is_finite()).then_some(ends)
    }

    /// The same in other units.
    pub(super) fn map(self, of: impl Fn(f64) -> f64) -> Self {
        let (a, b) = (of(self.low), of(self.high));
        Self { value: of(self.value), low: a.min(b), high: a.max(b) }
    }
}

/// What a sweep found for one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepAnswer {
    /// Input length of the cell.
    pub input_length: u32,
    /// Output length of the cell.
    pub output_length: u32,
    /// Which load was varied.
    pub by: Over,
    /// The answer in one sentence.
    pub answer: String,
    /// The probability that an interval covers the true value.
    pub confidence: f64,
    /// How it ended.
    pub outcome: SweepEnding,
    /// The throughput at saturation; absent if the server is not shown to be saturated.
    pub saturation: Option<SaturationAnswer>,
    /// The knee; absent if the server is not shown to be saturated.
    pub knee: Option<KneeAnswer>,
    /// Requests of all trials.
    pub requests: u64,
    /// Trials.
    pub trials: u32,
    /// Seconds that the trials took.
    pub time_s: f64,
    /// Cards that the server runs on, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpus: Option<u32>,
    /// What is known about each load, in the order of loads.
    pub levels: Vec<LevelAnswer>,
}

/// The throughput of a saturated server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SaturationAnswer {
    /// The load at which it was measured.
    pub load: f64,
    /// Completed requests per second.
    pub requests_per_s: Ends,
    /// Their output tokens per second.
    pub output_tokens_per_s: Option<Ends>,
    /// Mean time from due to end at that load; absent for a rate, because there it grows without limit.
    pub latency_ms: Option<Ends>,
    /// The load above it at which throughput is clearly lower, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub falls_at: Option<f64>,
}

/// The lowest load with a given share of the throughput at saturation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KneeAnswer {
    /// The best estimate.
    pub load: f64,
    /// The lower end of its interval; absent if the knee may lie below the lowest load.
    pub low: Option<f64>,
    /// The upper end.
    pub high: f64,
    /// The share of the throughput.
    pub share: f64,
    /// Mean latency at the knee as a multiple of that at `latency_of`; absent if unknown.
    pub latency_ratio: Option<f64>,
    /// The load that the latency is compared with: the lowest one whose throughput does not differ
    /// significantly from that at saturation, or one in flight in a sweep by rate.
    pub latency_of: f64,
}

/// What is known about a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevelAnswer {
    /// The unit of the load.
    pub by: Over,
    /// The load: requests in flight, or requests per second.
    pub load: f64,
    /// How often it was tried.
    pub trials: u32,
    /// Requests of all its trials.
    pub requests: u64,
    /// Requests that count: those of start-up and drain do not.
    pub counted: u64,
    /// Those that completed.
    pub completed: u64,
    /// Whether a trial was long enough for a steady state.
    pub is_settled: bool,
    /// Whether requests arrived faster than they ended.
    pub is_overloaded: bool,
    /// Completed requests per second.
    pub requests_per_s: Option<Ends>,
    /// Their output tokens per second.
    pub output_tokens_per_s: Option<Ends>,
    /// Mean time to first token.
    pub ttft_ms: Option<Ends>,
    /// Mean time per output token after the first.
    pub tpot_ms: Option<Ends>,
    /// Mean time from due to end.
    pub latency_ms: Option<Ends>,
    /// Output tokens per second that one user sees after the first token: 1000 / `tpot_ms`.
    pub tokens_per_s_per_user: Option<Ends>,
    /// Output tokens per second divided by the number of cards; absent if that number is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_per_s_per_gpu: Option<Ends>,
    /// Whether no other load has both more output tokens per second and more of them for each user.
    pub is_on_front: bool,
}

impl SweepAnswer {
    /// The cell.
    pub fn cell(&self) -> CellPlan {
        CellPlan { input_length: self.input_length, output_length: self.output_length }
    }
}
