//! A ShareGPT file: an array of `{id, conversations: [{from, value}, ...]}`. Prompts are first
//! human turns of [L, 1.5 L) tokens, cut to L.
//!
//! In front of each stands a tag of seeded words with the salt of the run, so that no two prompts
//! share their first KV block, even where a conversation has to be used again. A tag is about six
//! tokens, and never more than half of the prompt; prompts of one token have none.

mod file;
mod pick;

pub use file::{Loaded, Rejected, RowProblem, RowReason, load, read};
pub(crate) use pick::{Corpus, Picked};
