//! Exports: records and results for other programs.
//!
//! A [`table`] lists the columns of a row, and how each is computed from a record; the JSON schemas in the folder
//! `schema` say what they mean. A [`form`] writes rows as CSV, JSON Lines, one JSON document or Parquet. Only Parquet
//! keeps rows in memory, at most one row group. [`mlflow`] writes runs as an MLflow file store. [`vllm_bench()`] makes a
//! result file of `vllm bench serve` from a pass.
//!
//! Figures follow the definitions of [`inferometer_model::metrics`] and are never rounded. Only `vllm_bench` uses
//! the definitions of `vllm bench serve`.

mod error;
mod value;
mod vllm_bench;

pub mod form;
pub mod mlflow;
pub mod table;

pub use error::ExportError;
pub use value::{Field, Kind, Presence, Value};
pub use vllm_bench::vllm_bench;
