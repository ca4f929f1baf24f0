//! Where prompts come from: random words, data sets, traces, conversations; and the tokenizers that
//! count and make them.
//!
//! [`OpenWorkload::requests`] makes the requests of one pass: the same ones for the same plan, seed,
//! salt and scope, on every machine and with any number of threads. Nothing here sends a request,
//! reads a clock or draws from another random stream than [`inferometer_stats::seed`].

pub mod error;

pub mod fetch;
pub mod tokenizer;

mod context;
mod data_set;
mod fit;
mod note;
mod parallel;
mod scope;
mod workload;

pub mod blocks;
pub mod conversation;
pub mod drawn;
mod random;
pub mod replay;
pub mod rows;
pub mod sharegpt;
pub mod trace;

mod registry;

pub use context::PromptContext;
pub use data_set::{MAX_FILE_BYTES as MAX_DATA_SET_BYTES, check as check_data_set};
pub use error::WorkloadError;
pub use note::Note;
pub use registry::{OpenWorkload, prepare};
pub use scope::{PromptForm, PromptScope};
pub use tokenizer::{HfTokenizer, embedded, load};
pub use workload::{ChunkedRequests, RequestBatch, Turn, Wanted, Workload};
