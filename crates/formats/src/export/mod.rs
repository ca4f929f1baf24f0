//! Exports: records and results for other programs.
//!
//! A [`table`] lists the columns of a row, what each means and how it is taken from a record. A
//! [`form`] writes rows as CSV, JSON Lines, one JSON document or Parquet, and keeps none of them in
//! memory beyond a Parquet row group. [`schema`] makes the JSON schemas from the same columns.
//! [`mlflow`] writes runs as an MLflow file store, [`vllm_bench()`] a pass as a result file of
//! `vllm bench serve`.
//!
//! Figures are those that [`inferometer_metrics`] defines, never rounded; only `vllm_bench`
//! computes by the definitions of that tool.

mod error;
mod value;
mod vllm_bench;

pub mod form;
pub mod mlflow;
pub mod schema;
pub mod table;

pub use error::ExportError;
pub use value::{Field, Kind, Presence, Value};
pub use vllm_bench::vllm_bench;
