//! The workload `trace`: recorded production traffic, with its arrival times and its input and output
//! lengths. Some traces also state which prompts share a prefix. A trace contains no text, so prompts are
//! pseudo-random words, which depend on the seed of the plan and the salt of the run.
//!
//! The module `file` reads the rows, `unstated` derives what the file does not state, `timeline` selects and
//! scales the rows, `prompts` makes the requests.

pub(crate) mod block_size;
mod csv;
mod file;
mod json;
mod prompts;
mod row;
mod timeline;
mod unstated;

pub use row::{Row, RowReason, Rows};
pub use timeline::{Arrival, Timeline};
