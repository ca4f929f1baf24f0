//! The measured rows that a profile was fitted to or compared with: the ranges that they cover, their use, and the
//! errors of the profile on them. This file contains only data types.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Weights;

/// The errors of a profile on one table of measured rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// The name of the table, usually the name of the model.
    pub table: String,
    /// The storage format of the linear layers of the model.
    pub weights: Weights,
    /// What the rows were used for.
    pub role: Role,
    /// Number of rows.
    pub rows: u32,
    /// The assumed numbers of requests: (saturated pass, one-by-one pass). With the cost model for vLLM 0.8 and later:
    /// the largest number of requests of a run, and 1. For a text-block log: the smallest and the largest number of
    /// requests of a block.
    pub requests: (u32, u32),
    /// The ranges that the rows cover.
    pub seen: Coverage,
    /// Absolute errors in percent, per column.
    pub errors: ColumnErrors,
    /// Absolute errors in percent, per column, of fits without the predicted row. With the older cost model, one fit is
    /// without all rows of the same input length, another without all rows of the same output length. With the cost
    /// model for vLLM 0.8 and later, the fit of a built-in profile is without half of all rows, and the fit of a user's
    /// profile is at least without the row and its replicates. Empty if no constant was fitted on the rows, or if they
    /// are too few to leave any out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out_lengths: ColumnErrors,
    /// Signed errors of the same fits as [`Self::left_out_lengths`]. Only with the cost model for vLLM 0.8 and later.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub without_half: SignedErrors,
    /// Absolute errors in percent, per column, of a fit without the whole table. With the cost model for vLLM 0.8 and
    /// later, the fit is without all rows of the row's set (column `set` of the measured rows). Empty if no other table
    /// has rows of the same kernel, because the errors would then be meaningless. Also empty if a user fitted the
    /// profile.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out_table: ColumnErrors,
    /// Signed errors of the same fits as [`Self::left_out_table`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub without_table: SignedErrors,
    /// A key of earlier versions, which has no effect.
    #[serde(default, skip_serializing)]
    pub without_weights: SignedErrors,
    /// Signed errors of the table. In the prediction, the constants that differ between versions are those of another
    /// version of the engine.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub other_version: SignedErrors,
    /// The largest errors on left-out rows, by column, that the profile stated before it was scaled to a few rows. A
    /// few rows cannot show that the errors of the scaled profile are smaller. Empty if the profile was not scaled.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out_of_start: ColumnErrors,
}

/// Errors by column name, such as `output_tokens_per_s`.
pub type ColumnErrors = BTreeMap<String, ErrorPercent>;

/// Signed errors by column name.
pub type SignedErrors = BTreeMap<String, SignedError>;

/// The errors of the rows of a table, as logarithms of prediction / measurement, in percent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedError {
    /// The mean of the errors: the error that all rows of the table share.
    pub bias: f64,
    /// The standard deviation of the errors.
    pub scatter: f64,
    /// The number of errors.
    pub rows: u32,
}

impl SignedError {
    /// The mean and the standard deviation of these errors, rounded to two decimals. The standard deviation of a single
    /// error is 0.
    pub(crate) fn of(percent: &[f64]) -> Self {
        let rows = percent.len() as f64;
        let bias = percent.iter().sum::<f64>() / rows;
        let squares: f64 = percent.iter().map(|value| (value - bias).powi(2)).sum();
        let rounded = |value: f64| (value * 100.0).round() / 100.0;
        let scatter = rounded((squares / (rows - 1.0).max(1.0)).sqrt());
        Self { bias: rounded(bias), scatter, rows: percent.len() as u32 }
    }
}

/// The ranges that measured rows cover, each as (minimum, maximum).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coverage {
    /// Tokens of the prompts.
    pub input_tokens: (u32, u32),
    /// Tokens of the outputs.
    pub output_tokens: (u32, u32),
    /// Requests in flight, at most the number of requests that the engine runs at the same time.
    pub sequences: (u32, u32),
    /// The number of cards that share the model.
    pub cards: u32,
    /// The share of prompt tokens that were in the prefix cache, in percent. Only with the cost model for vLLM 0.8 and
    /// later.
    #[serde(default, skip_serializing_if = "is_none")]
    pub cached_percent: (u32, u32),
}

fn is_none(cached: &(u32, u32)) -> bool {
    *cached == (0, 0)
}

/// What rows were used for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Constants of the engine or of the card were fitted to them.
    #[default]
    Fitted,
    /// The constants of their kernel were fitted to them; for AWQ, also two constants that depend on the version.
    FittedKernel,
    /// No constant was fitted to them.
    HeldOut,
}

/// A distribution of absolute errors, in percent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorPercent {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub median: f64,
    /// Ninetieth percentile.
    pub p90: f64,
    /// Largest.
    pub max: f64,
}
