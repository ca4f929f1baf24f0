//! Imports: published tables, logs, the result files of other tools and our own `summary.json`, as runs of
//! the store.
//!
//! A figure of another tool is stored as our figure if both have the same definition. In addition, the
//! figures of a log or a result file, except those in lists, are stored under the tool's own names
//! ([`inferometer_analysis::imported::ImportedPass`]). No code here opens a file, reads a clock or connects
//! to a server.

mod error;
mod source;

mod finding;
mod published;
mod tool;

mod read;

pub use error::ImportError;
pub use read::read;
pub use source::{Import, PassRecords};
pub(crate) use tool::{AIPERF, GUIDELLM, INFERENCE_PERF, SGLANG, VLLM};
