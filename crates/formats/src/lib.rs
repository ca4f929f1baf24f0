//! Results in the file formats of other tools: imports, exports, and the tables that other
//! benchmarks print.
//!
//! - [`bundle`] is the form of runs as one file, for other stores and for those who have no store.
//! - [`import`] reads published tables, logs and result files of other tools.
//! - [`export`] writes records as CSV, JSON or Parquet, as an MLflow store, or as a result file of
//!   `vllm bench serve`.
//! - [`dialect`] computes from our records what another benchmark would have printed.
//!
//! Nothing here reads a clock or asks a server. Only [`export::mlflow`] opens files.

mod failure;
mod simulation;

pub mod bundle;
pub mod dialect;
pub mod export;
pub mod import;
