//! Imports: published tables, logs and the result files of other tools, as runs of the store.
//!
//! A figure of another tool is stored as our figure if both have the same definition. In addition, every figure
//! is stored under the tool's own name ([`inferometer_analysis::imported::ImportedPass`]). No code here opens a
//! file, reads a clock or connects to a server.

mod error;
mod source;

mod finding;
mod published;
mod tool;

mod read;

pub use error::ImportError;
pub use read::read;
pub use source::{Import, PassRecords};
