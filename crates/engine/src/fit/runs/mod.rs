//! Calibration of the cost of today's engines on measured runs: rates, closed loops, limits in
//! flight and lengths that vary. A run is simulated as it was measured, including ramp and tail.

mod knobs;
mod left_out;
mod play;
mod read;
mod search;

use inferometer_load::PassPlan;

use crate::config::EngineConfig;
use crate::cost::StepShape;
use crate::weights::Weights;

pub use knobs::{KNOBS, Knob, Scope};
pub use left_out::{
    ERROR_NAMES, RunError, column_errors, replicates, run_errors, run_provenances, signed_errors,
};
pub use play::{play_run, step_error};
pub use read::{Details, details, parse_runs, parse_steps};
pub use search::{Determined, FittedRuns, fit_runs};

/// A run as it was measured.
#[derive(Clone, Debug)]
pub struct MeasuredRun {
    /// The set of rows that it is of.
    pub set: String,
    /// The engine, as it is named: `vllm-0.23`.
    pub engine: String,
    /// The model and the engine's arguments, under the profile of the engine on its card.
    pub config: EngineConfig,
    /// The load.
    pub pass: PassPlan,
    /// Requests per second that were offered, where they are stated.
    pub rate: Option<f64>,
    /// Prompt and output tokens of the requests in their order; the last is of all further ones.
    pub lengths: Vec<(u32, u32)>,
    /// Tokens at the beginning of each prompt that all prompts share.
    pub prefix_tokens: u32,
    /// What was measured.
    pub measured: RunFigures,
}

/// Figures of a run; what was not stated is absent. Times in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunFigures {
    /// Completed requests per second, from the first send to the last end.
    pub requests_per_s: Option<f64>,
    /// Median time per output token after the first.
    pub tpot_p50_ms: Option<f64>,
    /// Median time to the first token.
    pub ttft_p50_ms: Option<f64>,
    /// Its 99th percentile.
    pub ttft_p99_ms: Option<f64>,
    /// Median time to the last token.
    pub e2e_p50_ms: Option<f64>,
}

impl RunFigures {
    /// The names of the figures, as errors of them are stated.
    pub const NAMES: [&str; 5] = [
        "output_tokens_per_s",
        "tpot_ms",
        "ttft_p50_ms",
        "ttft_p99_ms",
        "latency_per_output_token_ms",
    ];

    /// The figures in the order of the names: those of a run of fixed lengths have the errors of tokens per
    /// second, and of the latency per output token.
    pub fn values(&self) -> [Option<f64>; 5] {
        [self.requests_per_s, self.tpot_p50_ms, self.ttft_p50_ms, self.ttft_p99_ms, self.e2e_p50_ms]
    }
}

/// The duration of a kind of step, as it was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredStep {
    /// The step.
    pub shape: StepShape,
    /// The median of its durations, in seconds.
    pub seconds: f64,
}

impl MeasuredRun {
    /// How the linear layers of its model are stored.
    pub fn weights(&self) -> Weights {
        self.config.weights.unwrap_or(self.config.model.weights)
    }

    /// Whether it asks for more sequences at once than the engine runs, so that times to the first token
    /// are those of a queue. Open loads without a limit ask for their rate times the time of a request in
    /// the engine.
    pub fn is_full(&self) -> bool {
        let Ok(slots) = self.config.resolve().map(|resolved| resolved.limits.max_num_seqs) else {
            return false;
        };
        let asked = match (&self.pass, self.pass.limit().0) {
            (PassPlan::Saturated { requests }, _) => f64::from(*requests),
            (PassPlan::Closed { concurrency, .. }, _) => concurrency.peak(),
            (_, Some(limit)) => f64::from(limit),
            (_, None) => self.rate.unwrap_or(0.0) * self.generating_s(),
        };
        asked > f64::from(slots)
    }

    /// Whether requests wait for one another by the form of the load, in the client or the engine.
    pub(crate) fn is_queued(&self) -> bool {
        self.pass.is_limited() || self.is_full()
    }

    /// Seconds that a request holds a place in the engine beside its prompt; 0 where that was not measured.
    fn generating_s(&self) -> f64 {
        let outputs: f64 = self.lengths.iter().map(|lengths| f64::from(lengths.1)).sum();
        let tokens = outputs / self.lengths.len().max(1) as f64;
        self.measured.tpot_p50_ms.unwrap_or(0.0) * 1e-3 * (tokens - 1.0).max(0.0)
    }
}
