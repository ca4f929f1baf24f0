//! The data that only a prediction has: its uncertainty, the measured values, and its errors. These are types only; the
//! model is in another crate.

use serde::{Deserialize, Serialize};

/// The four columns of a published table; unknown values are absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Columns {
    /// Completed requests per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_s: Option<f64>,
    /// Output tokens per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens_per_s: Option<f64>,
    /// Mean of latency / (input + output tokens), in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_per_token_ms: Option<f64>,
    /// Mean of latency / output tokens, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_per_output_token_ms: Option<f64>,
}

impl Columns {
    /// The names of the columns in results.
    pub const NAMES: [&str; 4] = [
        "requests_per_s", "output_tokens_per_s", "latency_per_token_ms",
        "latency_per_output_token_ms",
    ];

    /// Builds columns from values in the order of [`Columns::NAMES`].
    pub fn from_values(values: [Option<f64>; 4]) -> Self {
        let [requests_per_s, output_tokens_per_s, latency_per_token_ms, per_output] = values;
        Self {
            requests_per_s,
            output_tokens_per_s,
            latency_per_token_ms,
            latency_per_output_token_ms: per_output,
        }
    }

    /// The values in the order of [`Columns::NAMES`].
    pub fn values(&self) -> [Option<f64>; 4] {
        [
            self.requests_per_s,
            self.output_tokens_per_s,
            self.latency_per_token_ms,
            self.latency_per_output_token_ms,
        ]
    }

    /// The signed errors of these figures in percent of the measured figures. An error is absent if one of the two
    /// figures is absent, or if the measured figure is not positive.
    pub fn error_pct(&self, measured: &Self) -> Self {
        let (own, theirs) = (self.values(), measured.values());
        Self::from_values(std::array::from_fn(|at| match (own[at], theirs[at]) {
            (Some(predicted), Some(measured)) if measured > 0.0 => {
                Some(100.0 * (predicted / measured - 1.0))
            }
            _ => None,
        }))
    }
}

/// For each column, a range or a spread, if it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OfColumns<T> {
    /// Of completed requests per second.
    pub requests_per_s: Option<T>,
    /// Of output tokens per second.
    pub output_tokens_per_s: Option<T>,
    /// Of the latency per token, in milliseconds.
    pub latency_per_token_ms: Option<T>,
    /// Of the latency per output token, in milliseconds.
    pub latency_per_output_token_ms: Option<T>,
}

/// For each column, the range in which nine of ten measurements are expected to lie.
pub type Intervals = OfColumns<[f64; 2]>;

/// The data of a cell that only a prediction has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CellPrediction {
    /// The ranges in which nine of ten measurements are expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Intervals>,
    /// The errors from which the interval was computed, as text. Absent if the interval is a guess, or if the cell has
    /// no figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_of: Option<String>,
    /// Why the interval is only a guess. Absent if the interval was computed from measured errors of the engine model,
    /// or if the cell has no figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncalibrated: Option<String>,
    /// The published or measured figures with which the prediction is compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<Columns>,
    /// Signed errors in percent of the measured figures; absent if prediction and measurement are not comparable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_pct: Option<Columns>,
    /// The predicted figures of each pass, in the order of the passes. Empty for engines of 2023: for these, only
    /// the table columns are predicted.
    #[serde(default, rename = "predicted_passes", skip_serializing_if = "Vec::is_empty")]
    pub passes: Vec<PassPrediction>,
}

/// The predicted figures of one pass.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PassPrediction {
    /// The load of the pass, as text.
    pub load: String,
    /// Completed requests per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_s: Option<FigurePrediction>,
    /// Median time per output token after the first, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tpot_p50_ms: Option<FigurePrediction>,
    /// Median time to the first token, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttft_p50_ms: Option<FigurePrediction>,
    /// 99th percentile of the time to the first token, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttft_p99_ms: Option<FigurePrediction>,
    /// Median time to the last token, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub e2e_p50_ms: Option<FigurePrediction>,
}

impl PassPrediction {
    /// The names of the figures in results.
    pub const NAMES: [&str; 5] =
        ["requests_per_s", "tpot_p50_ms", "ttft_p50_ms", "ttft_p99_ms", "e2e_p50_ms"];

    /// The figures in the order of [`PassPrediction::NAMES`].
    pub fn figures(&self) -> [Option<FigurePrediction>; 5] {
        [self.requests_per_s, self.tpot_p50_ms, self.ttft_p50_ms, self.ttft_p99_ms, self.e2e_p50_ms]
    }

    /// Builds the prediction from figures in the order of [`PassPrediction::NAMES`].
    pub fn of(load: String, figures: [Option<FigurePrediction>; 5]) -> Self {
        let [requests_per_s, tpot_p50_ms, ttft_p50_ms, ttft_p99_ms, e2e_p50_ms] = figures;
        Self { load, requests_per_s, tpot_p50_ms, ttft_p50_ms, ttft_p99_ms, e2e_p50_ms }
    }
}

/// A predicted figure of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FigurePrediction {
    /// The predicted value.
    pub predicted: f64,
    /// The range in which nine of ten measurements are expected.
    pub interval: [f64; 2],
    /// Whether the range was computed from errors of measured rows. If not, the range is a guess: a factor of two or
    /// more in both directions.
    pub calibrated: bool,
    /// The measured value; absent if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<f64>,
    /// The signed error in percent of the measured value; absent without a positive measured value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_pct: Option<f64>,
}

impl FigurePrediction {
    /// Adds a measured value and the error of the prediction.
    #[must_use]
    pub fn against(self, measured: Option<f64>) -> Self {
        let error_pct = measured
            .filter(|measured| *measured > 0.0)
            .map(|measured| 100.0 * (self.predicted / measured - 1.0));
        Self { measured, error_pct, ..self }
    }

    /// The range of another figure of the same pass, with the same relative error. For example, tokens/s have the
    /// relative error of requests/s. `figure` is the predicted value of the other figure.
    pub fn around(&self, figure: f64) -> [f64; 2] {
        match figure == self.predicted {
            true => self.interval,
            false => self.interval.map(|end| figure * (end / self.predicted)),
        }
    }

    /// Whether the measured value lies in the range; `None` without a measured value.
    pub fn holds(&self) -> Option<bool> {
        let [low, high] = self.interval;
        self.measured.map(|measured| (low..=high).contains(&measured))
    }
}

/// The distribution of absolute errors of a column, in percent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ErrorSummary {
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub median: f64,
    /// 90th percentile.
    pub p90: f64,
    /// Maximum.
    pub max: f64,
}
