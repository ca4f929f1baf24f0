//! Results in the forms of others: published tables and logs and the files of other tools in, files
//! and tables that those tools would have made out.
//!
//! Text in, values out and back: nothing here opens a file, reads a clock or asks a server. What
//! another tool states is mapped to our definitions where they agree, and kept under its own names
//! where they do not ([`inferometer_analysis::imported::Stated`]).

mod error;
mod import;
mod source;

pub mod dialect;

mod finding;
mod published;
mod tool;

mod simulation;
mod vllm_bench;

pub use error::ExchangeError;
pub use finding::CHARACTERS;
pub use import::import;
pub use source::{Import, PassRecords};
pub use vllm_bench::vllm_bench;
