//! The requests of a run: which tokenizer gives prompts their lengths, which prompts each pass has, and the hash over
//! all of them. This module sends requests only if the server's own tokenizer is used.

mod tokenizer;
mod workload;

mod cursor;
mod workload_hash;

mod source;

mod chunked_source;
mod conversations;
mod same_work;
mod supply;

pub use chunked_source::MAX_TOKENS_IN_MEMORY;
pub use cursor::PromptCursor;
pub use same_work::{EarlierWork, check_same_work};
pub use source::{BATCH, PassRequests, SourceError};
pub use supply::supply;
pub use tokenizer::{PromptTokenizer, named_tokenizer, servers_tokenizer};
pub use workload::{Prompts, check_dataset, check_dialect, data_set_findings, dataset_file};
pub use workload_hash::WorkloadHash;
