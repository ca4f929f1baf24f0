//! Imports: published tables, logs and the result files of other tools, as runs of the store.
//!
//! A figure of another tool goes where ours stands if both have the same definition. Otherwise it
//! is kept under the name that the tool gives it ([`inferometer_analysis::imported::Stated`]). Nothing
//! here opens a file, reads a clock or asks a server.

mod error;
mod source;

mod finding;
mod published;
mod tool;

mod read;

pub use error::ImportError;
pub use read::read;
pub use source::{Import, PassRecords};
