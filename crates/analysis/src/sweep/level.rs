//! Joins the figures of all trials at one load.

use inferometer_plan::search::Over;

use super::{estimate::FigureEstimate, fold::LevelTrial};
use crate::growth::Growth;

/// A load, with the joint figures of its trials.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// The unit of the load.
    pub by: Over,
    /// The load: requests in flight, or requests per second.
    pub load: f64,
    /// The number of trials at this load.
    pub trials: u32,
    /// The number of these trials whose figures are used.
    pub settled_trials: u32,
    /// The number of requests of the last trial.
    pub last_requests: u64,
    /// Whether the last trial was long enough for a steady state.
    pub is_last_settled: bool,
    /// The number of requests of these trials.
    pub requests: u64,
    /// The number of requests that count. Requests of start-up and drain do not count.
    pub counted: u64,
    /// The number of completed requests of these trials, start-up and drain included.
    pub completed: u64,
    /// The number of requests that the server refused because the client sends too many.
    pub rate_limited: u64,
    /// The number of requests of these trials that the time limit cancelled.
    pub cancelled: u64,
    /// Whether a trial was long enough for a steady state.
    pub is_settled: bool,
    /// Whether, in at least one of the used trials, all outputs have the same length.
    pub has_equal_outputs: bool,
    /// The growth of the number in flight in the last trial that counts; absent if it was not estimated.
    pub growth: Option<Growth>,
    /// Completed requests per second.
    pub requests_per_s: Option<FigureEstimate>,
    /// Output tokens of completed requests per second.
    pub output_tokens_per_s: Option<FigureEstimate>,
    /// Mean time to first token. Like `tpot_ms` and `latency_ms`, it is absent if requests arrived faster than they
    /// ended.
    pub ttft_ms: Option<FigureEstimate>,
    /// Mean time per output token after the first.
    pub tpot_ms: Option<FigureEstimate>,
    /// Mean time from the due time to the end.
    pub latency_ms: Option<FigureEstimate>,
}

impl Level {
    /// Joins the trials of one load. If one of them reached a steady state, those that did not are ignored. `None`
    /// without a trial.
    pub(super) fn of(all: &[&LevelTrial]) -> Option<Self> {
        let last = all.last()?;
        let any_settled = all.iter().any(|trial| trial.is_settled);
        let taken: Vec<&&LevelTrial> =
            all.iter().filter(|trial| trial.is_settled || !any_settled).collect();
        let pooled = |of: fn(&LevelTrial) -> Option<FigureEstimate>| {
            let weight = |trial: &LevelTrial| trial.counted as f64;
            let known = taken.iter().filter_map(|trial| Some((of(trial)?, weight(trial))));
            let known: Vec<_> = known.collect();
            // Random arrivals make trials independent. In a closed loop, all trials begin in the same way.
            let figures: Vec<FigureEstimate> = known.iter().map(|(figure, _)| *figure).collect();
            let of_trials = (last.by == Over::Rate).then(|| FigureEstimate::of_trials(&figures));
            of_trials.flatten().or_else(|| FigureEstimate::pooled(&known))
        };
        let last_taken = taken.last()?;
        Some(Self {
            by: last.by,
            load: last.load,
            trials: all.len() as u32,
            settled_trials: taken.len() as u32,
            last_requests: last.requests,
            is_last_settled: last.is_settled,
            requests: all.iter().map(|trial| trial.requests).sum(),
            counted: taken.iter().map(|trial| trial.counted).sum(),
            completed: all.iter().map(|trial| trial.completed).sum(),
            rate_limited: all.iter().map(|trial| trial.rate_limited).sum(),
            cancelled: all.iter().map(|trial| trial.cancelled).sum(),
            is_settled: any_settled,
            has_equal_outputs: taken.iter().any(|trial| trial.has_equal_outputs),
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
}
