//! What a prediction states besides its figures: its uncertainty, the measured values, its errors.
//! Predicts nothing itself.

use serde::{Deserialize, Serialize};

/// The four columns of a published table; an absent value is not stated.
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
    /// The names of the columns, as results spell them.
    pub const NAMES: [&str; 4] = [
        "requests_per_s",
        "output_tokens_per_s",
        "latency_per_token_ms",
        "latency_per_output_token_ms",
    ];

    /// From values in the order of [`Columns::NAMES`].
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

    /// Signed errors of these figures in percent of the measured ones, if both are stated.
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

/// The range in which nine of ten measurements are expected to lie, for each column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Intervals {
    /// Completed requests per second.
    pub requests_per_s: Option<[f64; 2]>,
    /// Output tokens per second.
    pub output_tokens_per_s: Option<[f64; 2]>,
    /// Latency per token, in milliseconds.
    pub latency_per_token_ms: Option<[f64; 2]>,
    /// Latency per output token, in milliseconds.
    pub latency_per_output_token_ms: Option<[f64; 2]>,
}

/// What a prediction states about one cell besides its figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CellPrediction {
    /// Its uncertainty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Intervals>,
    /// The errors that the interval is based on, as text; absent if it is a guess.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_of: Option<String>,
    /// Why the interval is only a guess; absent if it is based on the model's own measured errors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncalibrated: Option<String>,
    /// The published or measured figures that it is compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<Columns>,
    /// Signed errors in percent; absent if the two do not mean the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_pct: Option<Columns>,
    /// The same for each pass and its quantiles, in the order of the passes; empty for engines of 2023,
    /// because only their columns are predicted.
    #[serde(default, rename = "predicted_passes", skip_serializing_if = "Vec::is_empty")]
    pub passes: Vec<PassPrediction>,
}

/// What a prediction states about one pass: each figure by its name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PassPrediction {
    /// Its load, as text.
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
    /// Its 99th percentile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttft_p99_ms: Option<FigurePrediction>,
    /// Median time to the last token, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub e2e_p50_ms: Option<FigurePrediction>,
}

impl PassPrediction {
    /// The names of the figures.
    pub const NAMES: [&str; 5] =
        ["requests_per_s", "tpot_p50_ms", "ttft_p50_ms", "ttft_p99_ms", "e2e_p50_ms"];

    /// The figures in the order of the names.
    pub fn figures(&self) -> [Option<FigurePrediction>; 5] {
        [self.requests_per_s, self.tpot_p50_ms, self.ttft_p50_ms, self.ttft_p99_ms, self.e2e_p50_ms]
    }

    /// From figures in the order of the names.
    pub fn of(load: String, figures: [Option<FigurePrediction>; 5]) -> Self {
        let [requests_per_s, tpot_p50_ms, ttft_p50_ms, ttft_p99_ms, e2e_p50_ms] = figures;
        Self { load, requests_per_s, tpot_p50_ms, ttft_p50_ms, ttft_p99_ms, e2e_p50_ms }
    }
}

/// A predicted figure of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FigurePrediction {
    /// The prediction.
    pub predicted: f64,
    /// The range in which nine of ten measurements are expected.
    pub interval: [f64; 2],
    /// Whether the range is based on errors of measured rows; else it is a factor of two in both
    /// directions.
    pub calibrated: bool,
    /// The measured value, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<f64>,
    /// The signed error in percent of the measured value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_pct: Option<f64>,
}

impl FigurePrediction {
    /// The same, compared with a measurement.
    #[must_use]
    pub fn against(self, measured: Option<f64>) -> Self {
        let error_pct = measured
            .filter(|measured| *measured > 0.0)
            .map(|measured| 100.0 * (self.predicted / measured - 1.0));
        Self { measured, error_pct, ..self }
    }

    /// Whether the measured value lies in the range; absent without a measured value.
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
    /// Largest.
    pub max: f64,
}
