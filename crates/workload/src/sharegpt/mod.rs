//! ShareGPT files: an array of `{id, conversations: [{from, value}, ...]}`. Two workloads use the first
//! turns of conversations: `cut` cuts them to the input lengths of the plan, `whole` does not.

mod cut;
mod file;
mod pool;
mod whole;

pub(crate) use cut::Cut;
pub(crate) use file::each_row;
pub use file::{Loaded, Rejected, RowProblem, RowReason, load, read};
pub(crate) use whole::WholeConversations;
