//! The workload `trace`: production traffic, as its arrivals, input and output lengths and, in some
//! traces, which prompts share a prefix. A trace holds no text; prompts are seeded words.
//!
//! `file` reads the rows, `timeline` selects and scales them, `prompts` makes the requests.

mod csv;
mod file;
mod json;
mod prompts;
mod row;
mod timeline;

pub use row::{BLOCK_TOKENS, LeftOut, Row, RowReason, Rows};
pub use timeline::{Arrival, Timeline};
