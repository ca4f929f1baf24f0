//! Where prompts come from: tokenizers, seeded words, data sets.
//!
//! [`requests()`] makes the requests of one pass, the same ones for the same spec, seed, salt and
//! place, on every machine and with every number of threads. Nothing here sends a request, reads
//! a clock or draws from another random stream than [`inferometer_stats::seed`].

pub mod error;
pub mod tokenizer;

pub mod fetch;
pub mod place;

pub mod blocks;
pub mod conversation;
pub mod drawn;
mod fit;
pub mod random;
pub mod replay;
pub mod rows;
pub mod sharegpt;
pub mod trace;

mod parallel;
pub mod requests;

pub use error::WorkloadError;
pub use fit::Made;
pub use place::{PromptForm, PromptPlace};
pub use requests::{Built, Note, Parts, Shared, Workload, WorkloadSpec, prepare, requests};
pub use tokenizer::{HfTokenizer, embedded, load};
