//! The answer of a sweep as results hold it. Types only.

use inferometer_model::cell::CellPlan;
use inferometer_plan::search::Over;
use serde::{Deserialize, Serialize};

use super::estimate::Estimate;
use super::outcome::Outcome;

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
    pub(super) fn of(found: Option<Estimate>, confidence: f64) -> Option<Self> {
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

/// What a sweep found out for one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepAnswer {
    /// Input length of the cell.
    pub input_length: u32,
    /// Output length of the cell.
    pub output_length: u32,
    /// What was made higher and higher.
    pub by: Over,
    /// The answer in one sentence.
    pub answer: String,
    /// The probability that an interval holds what it is of.
    pub confidence: f64,
    /// How it ended.
    pub outcome: Outcome,
    /// What the server can do; absent where it is not shown to be saturated.
    pub saturation: Option<SaturationAnswer>,
    /// The knee; absent where the server is not shown to be saturated.
    pub knee: Option<KneeAnswer>,
    /// Requests of all trials.
    pub requests: u64,
    /// Trials.
    pub trials: u32,
    /// Seconds that the trials took.
    pub time_s: f64,
    /// Cards that the server runs on, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpus: Option<u32>,
    /// What is known of each load, in the order of loads.
    pub levels: Vec<LevelAnswer>,
}

/// What a saturated server does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SaturationAnswer {
    /// The load at which it was measured.
    pub load: f64,
    /// Completed requests per second.
    pub requests_per_s: Ends,
    /// Their output tokens per second.
    pub output_tokens_per_s: Option<Ends>,
    /// Mean time from due to end there; absent at a rate, where it has no end.
    pub latency_ms: Option<Ends>,
    /// The load above it at which throughput is clearly less, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub falls_at: Option<f64>,
}

/// The lowest load with a stated share of the throughput at saturation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KneeAnswer {
    /// The best estimate.
    pub load: f64,
    /// The lower end of its interval; absent where the knee may lie below the lowest load.
    pub low: Option<f64>,
    /// The upper end.
    pub high: f64,
    /// The share of the throughput.
    pub share: f64,
    /// Mean latency there as a multiple of that at `latency_of`; absent where it is not known.
    pub latency_ratio: Option<f64>,
    /// The load that the latency is compared with: the lowest one whose throughput does not differ
    /// significantly from that at saturation, or one in flight in a sweep by rate.
    pub latency_of: f64,
}

/// What is known of a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevelAnswer {
    /// What the load is of.
    pub by: Over,
    /// Requests in flight, or per second.
    pub load: f64,
    /// How often it was tried.
    pub trials: u32,
    /// Requests of all its trials.
    pub requests: u64,
    /// Those that count: neither start-up nor drain.
    pub counted: u64,
    /// Those that completed.
    pub completed: u64,
    /// Whether a trial was long enough to show what the load holds.
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
    /// Output tokens per second by the number of cards; absent where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_per_s_per_gpu: Option<Ends>,
    /// Whether no other load has more output tokens per second, and more of them for each user.
    pub is_on_front: bool,
}

impl SweepAnswer {
    /// The cell.
    pub fn cell(&self) -> CellPlan {
        CellPlan { input_length: self.input_length, output_length: self.output_length }
    }
}
