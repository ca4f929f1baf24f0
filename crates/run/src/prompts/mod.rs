//! The requests of a run: which tokenizer gives prompts their lengths, which prompts each pass has, and the hash over
//! all of them. This module sends requests only to find and to use the server's own tokenizer.

mod tokenizer;
mod workload;

mod cursor;
mod workload_hash;

mod source;

mod chunked_source;
mod conversations;
mod same_work;
mod supply;

pub use chunked_source::MAX_BYTES_IN_MEMORY;
pub use cursor::PromptCursor;
pub use same_work::{EarlierWork, check_same_work};
pub use source::{BATCH, BATCHES_IN_MEMORY, PassRequests, SourceError};
pub use supply::supply;
pub use tokenizer::{PromptTokenizer, named_tokenizer, servers_tokenizer};
pub use workload::{Prompts, check_dataset, check_dialect, data_set_findings, dataset_file};
pub use workload_hash::WorkloadHash;
