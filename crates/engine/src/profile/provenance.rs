//! The measured rows behind a profile: what they cover, what they were used for, and how far the
//! profile misses them. Computes nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::weights::Weights;

/// Errors of one table of measured rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// The table: a model's name.
    pub table: String,
    /// How its model's linear layers are stored.
    pub weights: Weights,
    /// What the rows were used for.
    pub role: Role,
    /// Number of rows.
    pub rows: u32,
    /// Requests of the saturated pass, and of the one by one, that were assumed.
    pub requests: (u32, u32),
    /// What the rows cover.
    pub seen: Coverage,
    /// Absolute errors in percent, per column.
    pub errors: ColumnErrors,
    /// The same of each row predicted by a fit to all tables without the rows of its input length,
    /// and by one without those of its output length; empty where nothing was fitted on the rows.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out_lengths: ColumnErrors,
    /// The same with the whole table left out of the fit; empty where that says nothing, because no
    /// other table has rows of its kernel.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out_table: ColumnErrors,
    /// Signed errors of the table under a fit to the other tables of its weights.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub without_table: SignedErrors,
    /// Signed errors of the table under a fit to tables of other weights alone.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub without_weights: SignedErrors,
    /// Signed errors of the table with what differs in another version of the engine.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub other_version: SignedErrors,
    /// Where a few rows only gave multipliers over another profile: the largest left-out errors of
    /// that profile, since a few rows cannot make them smaller.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out_of_start: ColumnErrors,
}

/// Errors by column: `output_tokens_per_s`, `latency_per_output_token_ms`.
pub type ColumnErrors = BTreeMap<String, ErrorPercent>;

/// Signed errors by column.
pub type SignedErrors = BTreeMap<String, SignedError>;

/// The errors of the rows of a table, as logarithms of prediction / measurement, in percent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedError {
    /// Their mean: what all rows of the table share.
    pub bias: f64,
    /// Their standard deviation around it.
    pub scatter: f64,
    /// Their number.
    pub rows: u32,
}

/// The ranges that measured rows cover, each as (least, most).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coverage {
    /// Tokens of the prompts.
    pub input_tokens: (u32, u32),
    /// Tokens of the outputs.
    pub output_tokens: (u32, u32),
    /// Requests in flight, or as many of them as the engine runs at once at most.
    pub sequences: (u32, u32),
    /// Cards that share the model.
    pub cards: u32,
}

/// What rows were used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// All constants were fitted on them.
    Fitted,
    /// Only the constants of their kernel were fitted on them.
    FittedKernel,
    /// No constant was fitted on them.
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
