//! The workload `trace`: recorded production traffic, with its arrival times and its input and output
//! lengths. Some traces also state which prompts share a prefix. A trace contains no text, so prompts are
//! pseudo-random words, which depend on the seed of the plan and the salt of the run.
//!
//! The module `file` reads the rows, `timeline` selects and scales them, `prompts` makes the requests.

mod csv;
mod file;
mod json;
mod prompts;
mod row;
mod timeline;

pub use row::{BLOCK_TOKENS, LeftOut, Row, RowReason, Rows};
pub use timeline::{Arrival, Timeline};
