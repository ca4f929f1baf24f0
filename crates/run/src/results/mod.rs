//! The results of a run: computed from its figures or its log, and written as files.

pub mod grid;
pub(crate) mod judged_answers;
pub mod log_summary;
pub mod outputs;
mod precision;
pub mod summarise;
