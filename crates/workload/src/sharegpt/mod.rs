//! A ShareGPT file: an array of `{id, conversations: [{from, value}, ...]}`. Prompts are first
//! human turns, cut to length, each behind a salted tag of its own.

mod file;
mod pick;

pub use file::{Loaded, Rejected, RowProblem, RowReason, load, read};
pub(crate) use pick::{Corpus, Picked};
