//! Traces of production traffic: when requests came, how long they and their answers were, and,
//! where the trace says so, what they had in common. A trace holds no text; its words are seeded.
//!
//! Reading ([`file`]) and choosing what to play (`timeline`) are pure in the file's text; prompts
//! are made of rows in `prompts`.

mod csv;
mod file;
pub(crate) mod instant;
mod json;
mod prompts;
mod timeline;

pub use file::{BLOCK_TOKENS, LeftOut, Row, RowReason, Rows};
pub(crate) use prompts::Trace;
pub use timeline::{Arrival, Timeline};
