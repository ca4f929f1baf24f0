//! What a prediction says beside its figures: how sure it is, what was measured, how far it is
//! off. Predicts nothing itself.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::stats::percentile;
use crate::summary::Cell;

/// The four columns of a published table; absent is not stated.
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
    #[must_use]
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
    #[must_use]
    pub fn values(&self) -> [Option<f64>; 4] {
        [
            self.requests_per_s,
            self.output_tokens_per_s,
            self.latency_per_token_ms,
            self.latency_per_output_token_ms,
        ]
    }

    /// The columns of a cell.
    #[must_use]
    pub fn of(cell: &Cell) -> Self {
        Self {
            requests_per_s: cell.requests_per_s,
            output_tokens_per_s: cell.output_tokens_per_s,
            latency_per_token_ms: cell.latency_per_token_ms,
            latency_per_output_token_ms: cell.latency_per_output_token_ms,
        }
    }

    /// Signed errors of these figures in percent of those measured, where both are stated.
    #[must_use]
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

/// The range in which nine of ten measurements are expected to lie, per column.
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

/// What a prediction says of one cell beside its figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CellPrediction {
    /// How sure it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Intervals>,
    /// Why the interval is only a guess; absent where the model's own measured errors back it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncalibrated: Option<String>,
    /// The published or measured figures that it is compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<Columns>,
    /// Signed errors in percent; absent where the two do not mean the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_pct: Option<Columns>,
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

/// The distribution of absolute errors per column, over the cells that have any; absent where
/// nothing was held against the cells.
#[must_use]
pub fn error_summaries(cells: &[Cell]) -> Option<BTreeMap<String, ErrorSummary>> {
    cells.iter().any(|cell| cell.prediction.measured.is_some()).then(|| errors(cells))
}

fn errors(cells: &[Cell]) -> BTreeMap<String, ErrorSummary> {
    let errors: Vec<[Option<f64>; 4]> =
        cells.iter().filter_map(|cell| Some(cell.prediction.error_pct?.values())).collect();
    let column = |(at, name): (usize, &str)| {
        let mut values: Vec<f64> = errors.iter().filter_map(|row| row[at]).map(f64::abs).collect();
        values.sort_unstable_by(f64::total_cmp);
        let max = *values.last()?;
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let (median, p90) = (percentile(&values, 0.5), percentile(&values, 0.9));
        Some((name.to_owned(), ErrorSummary { mean, median, p90, max }))
    };
    Columns::NAMES.into_iter().enumerate().filter_map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold;

    #[test]
    fn errors_are_signed_per_cell_and_absolute_in_the_summary() {
        let measured = Columns { requests_per_s: Some(10.0), ..Columns::default() };
        let cells = [8.0, 11.0, 13.0].map(|predicted| {
            let found = Columns { requests_per_s: Some(predicted), ..Columns::default() };
            let error_pct = Some(found.error_pct(&measured));
            let mut cell = fold::cell(1, 1, Vec::new());
            cell.prediction = CellPrediction { error_pct, ..CellPrediction::default() };
            cell
        });
        let signed = cells[0].prediction.error_pct.unwrap();
        assert!((signed.requests_per_s.unwrap() + 20.0).abs() < 1e-9);
        assert_eq!(signed.output_tokens_per_s, None);
        let summary = errors(&cells);
        assert_eq!(summary.len(), 1);
        let requests = summary["requests_per_s"];
        assert!((requests.mean - 20.0).abs() < 1e-9 && (requests.median - 20.0).abs() < 1e-9);
        assert!((requests.max - 30.0).abs() < 1e-9 && (requests.p90 - 28.0).abs() < 1e-9);
    }

    #[test]
    fn a_cell_that_was_measured_says_nothing_of_predictions_in_json() {
        let text = serde_json::to_string(&fold::cell(1, 2, Vec::new())).unwrap();
        assert!(!text.contains("interval") && !text.contains("measured"), "{text}");
    }
}
