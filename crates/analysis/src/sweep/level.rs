//! What is known about one load from all its trials.

use inferometer_plan::search::Over;

use super::estimate::FigureEstimate;
use super::fold::LevelTrial;
use crate::growth::Growth;

/// A load, with what its trials show together.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// The unit of the load.
    pub by: Over,
    /// The load: requests in flight, or requests per second.
    pub load: f64,
    /// The number of its trials.
    pub trials: u32,
    /// Requests of all its trials.
    pub requests: u64,
    /// Requests that count.
    pub counted: u64,
    /// Requests that completed.
    pub completed: u64,
    /// Whether a trial was long enough for a steady state.
    pub is_settled: bool,
    /// The growth in the last trial.
    pub growth: Option<Growth>,
    /// Completed requests per second.
    pub requests_per_s: Option<FigureEstimate>,
    /// Their output tokens per second.
    pub output_tokens_per_s: Option<FigureEstimate>,
    /// Mean time to first token.
    pub ttft_ms: Option<FigureEstimate>,
    /// Mean time per output token after the first.
    pub tpot_ms: Option<FigureEstimate>,
    /// Mean time from due to end.
    pub latency_ms: Option<FigureEstimate>,
}

impl Level {
    /// What the trials of one load show. If one of them reached a steady state, those that did not are
    /// ignored.
    pub(super) fn of(all: &[&LevelTrial]) -> Option<Self> {
        let last = all.last()?;
        let any_settled = all.iter().any(|trial| trial.is_settled);
        let taken: Vec<&&LevelTrial> =
            all.iter().filter(|trial| trial.is_settled || !any_settled).collect();
        let pooled = |of: fn(&LevelTrial) -> Option<FigureEstimate>| {
            let weight = |trial: &LevelTrial| trial.counted as f64;
            let known = taken.iter().filter_map(|trial| Some((of(trial)?, weight(trial))));
            FigureEstimate::pooled(&known.collect::<Vec<_>>())
        };
        let last_taken = taken.last()?;
        Some(Self {
            by: last.by,
            load: last.load,
            trials: all.len() as u32,
            requests: all.iter().map(|trial| trial.requests).sum(),
            counted: taken.iter().map(|trial| trial.counted).sum(),
            completed: all.iter().map(|trial| trial.completed).sum(),
            is_settled: any_settled,
            growth: last_taken.growth,
            requests_per_s: pooled(|trial| trial.requests_per_s),
            output_tokens_per_s: pooled(|trial| trial.output_tokens_per_s),
            ttft_ms: pooled(|trial| trial.ttft_ms),
            tpot_ms: pooled(|trial| trial.tpot_ms),
            latency_ms: pooled(|trial| trial.latency_ms),
        })
    }

    /// Whether requests arrive faster than the server completes them.
    pub fn is_overloaded(&self) -> bool {
        self.growth.is_some_and(|growth| growth.is_shown())
    }

    /// Output tokens per second that one user sees after the first token.
    pub fn tokens_per_s_per_user(&self) -> Option<f64> {
        self.tpot_ms.filter(|tpot| tpot.value > 0.0).map(|tpot| 1e3 / tpot.value)
    }
}
