//! Results in the file formats of other tools: imports, exports, and the tables that other
//! benchmarks print.
//!
//! - [`bundle`] reads and writes one or more runs as one file, for another store or for users without a
//!   store.
//! - [`import`] reads published tables, logs and result files of other tools.
//! - [`export`] writes records as CSV, JSON or Parquet, as an MLflow store, or as a result file of
//!   `vllm bench serve`.
//! - [`dialect`] computes from our records what another benchmark would have printed.
//!
//! No code here reads a clock or connects to a server. Only [`export::mlflow`] opens files.

mod failure;
mod simulation;

pub mod bundle;
pub mod dialect;
pub mod export;
pub mod import;
