//! Calibration of the cost model of current engines on measured runs: open loads at a rate, closed loops,
//! limits of requests in flight, and varying lengths. A run is simulated as it was measured, including its
//! ramp-up and its tail.

mod fitted_constants;
mod left_out;
mod own;
mod play;
mod read;
mod refits;
mod search;
mod steps;

use inferometer_model::{ClosedPlan, PassPlan, load::SaturatedPlan};

use crate::{EngineConfig, Weights, cost::StepShape};

pub use fitted_constants::{FITTED_CONSTANTS, FittedConstant, Scope};
pub use left_out::{
    ERROR_NAMES, RunError, column_errors, replicates, run_errors, run_provenances, signed_errors,
};
pub use own::{OwnFit, fit_own};
pub(crate) use play::has_known_arrivals;
pub use play::{simulate_run, simulate_slower, step_error};
pub use read::{Details, details, parse_runs};
pub use refits::{Refit, parse_refits, refits_to_csv};
pub use search::{Determined, FittedRuns, fit_runs};
pub use steps::parse_steps;

/// A measured run.
#[derive(Clone, Debug)]
pub struct MeasuredRun {
    /// The name of the set of measured runs to which this run belongs (column `set` of the file).
    pub set: String,
    /// The name and version of the engine: `vllm 0.23`.
    pub engine: String,
    /// The model, the engine's arguments, and the profile of the engine on its card.
    pub config: EngineConfig,
    /// The load.
    pub pass: PassPlan,
    /// The offered load in requests per second; absent if the file does not state it.
    pub rate: Option<f64>,
    /// Prompt and output tokens of the requests, in order. If the pass has more requests than this list, the
    /// last pair applies to the others.
    pub lengths: Vec<(u32, u32)>,
    /// The number of tokens at the beginning of the prompts that all prompts share.
    pub prefix_tokens: u32,
    /// The measured figures.
    pub measured: RunFigures,
}

/// The figures of a run. A figure is absent if it was not measured or is not defined. Times are in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunFigures {
    /// Completed requests per second, from the sending of the first request to the end of the last request.
    pub requests_per_s: Option<f64>,
    /// Median time per output token after the first.
    pub tpot_p50_ms: Option<f64>,
    /// Median time to the first token.
    pub ttft_p50_ms: Option<f64>,
    /// The 99th percentile of the time to the first token.
    pub ttft_p99_ms: Option<f64>,
    /// Median time to the last token.
    pub e2e_p50_ms: Option<f64>,
}

impl RunFigures {
    /// The names under which profiles state the errors of the figures.
    pub const NAMES: [&str; 5] = [
        "output_tokens_per_s", "tpot_ms", "ttft_p50_ms", "ttft_p99_ms",
        "latency_per_output_token_ms",
    ];

    /// Returns the figures in the order of [`Self::NAMES`]. With fixed lengths, requests/s and output tokens/s have the
    /// same relative error. The E2E latency and the latency per output token also have the same relative error.
    pub fn values(&self) -> [Option<f64>; 5] {
        [self.requests_per_s, self.tpot_p50_ms, self.ttft_p50_ms, self.ttft_p99_ms, self.e2e_p50_ms]
    }
}

/// The measured duration of steps of one shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredStep {
    /// The shape of the steps.
    pub shape: StepShape,
    /// The median duration, in seconds.
    pub seconds: f64,
}

impl MeasuredRun {
    /// Returns the storage format of the weights of the linear layers.
    pub fn weights(&self) -> Weights {
        self.config.weights.unwrap_or(self.config.model.weights)
    }

    /// The share of prompt tokens that are in the prefix cache; 0 if prefix caching is off.
    pub(crate) fn cached_share(&self) -> f64 {
        let tokens: u64 = self.lengths.iter().map(|lengths| u64::from(lengths.0)).sum();
        let mean = tokens as f64 / self.lengths.len().max(1) as f64;
        match self.config.prefix_caching {
            Some(false) => 0.0,
            _ => f64::from(self.prefix_tokens) / mean.max(1.0),
        }
    }

    /// Whether the load needs more sequences at the same time than the engine runs. TTFT then depends on the engine's
    /// queue. For arrivals without a limit, the number of sequences is estimated: the rate times the mean decode time
    /// of a request. False if the configuration is not valid.
    pub fn exceeds_max_num_seqs(&self) -> bool {
        let Ok(slots) = self.config.resolve().map(|resolved| resolved.limits.max_num_seqs) else {
            return false;
        };
        let asked = match (&self.pass, self.pass.limit().0) {
            (PassPlan::Saturated(SaturatedPlan { requests }), _) => f64::from(*requests),
            (PassPlan::Closed(ClosedPlan { concurrency, .. }), _) => concurrency.peak(),
            (_, Some(limit)) => f64::from(limit),
            (_, None) => self.rate.unwrap_or(0.0) * self.generating_s(),
        };
        asked > f64::from(slots)
    }

    /// Whether requests wait for each other, either in the client or in the engine.
    pub(crate) fn is_queued(&self) -> bool {
        self.pass.is_limited() || self.exceeds_max_num_seqs()
    }

    /// Returns the mean decode time of a request in seconds, without its prompt; 0 if TPOT was not measured.
    fn generating_s(&self) -> f64 {
        let outputs: f64 = self.lengths.iter().map(|lengths| f64::from(lengths.1)).sum();
        let tokens = outputs / self.lengths.len().max(1) as f64;
        self.measured.tpot_p50_ms.unwrap_or(0.0) * 1e-3 * (tokens - 1.0).max(0.0)
    }
}
