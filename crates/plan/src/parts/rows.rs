//! The resolved options for rows of the user's own data.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A file of rows, and how it is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowsPlan {
    /// The file.
    pub dataset: String,
    /// Its format.
    pub format: RowsFormat,
    /// Names of columns by field: prompt, messages, `token_ids`, `output_tokens`, body, timestamp. Fields
    /// that are absent here have their usual names.
    pub columns: BTreeMap<String, String>,
    /// The output length, in tokens, of rows without an output length; absent: such rows are left out.
    pub output_length: Option<u32>,
    /// Whether each row is due at its own timestamp. Rows are then sent in the order of timestamps.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed: bool,
}

/// A format of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowsFormat {
    /// A JSON object per line.
    Jsonl,
    /// Comma-separated values; the first line names the columns.
    Csv,
    /// Parquet: typed columns.
    Parquet,
}

inferometer_model::names!(RowsFormat { Jsonl => "jsonl", Csv => "csv", Parquet => "parquet" });
