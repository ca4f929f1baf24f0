//! The workload `sharegpt`, which uses the first turns of conversations from a ShareGPT file. The file is
//! an array of `{id, conversations: [{from, value}, ...]}`. The module `cut` cuts turns to the input
//! lengths of the plan; the module `whole` uses whole turns.

mod cut;
mod file;
mod pool;
mod whole;

pub(crate) use cut::Cut;
pub(crate) use file::each_row;
pub use file::{Loaded, RowReason, load, read};
pub(crate) use whole::FirstTurnsDefinition;
