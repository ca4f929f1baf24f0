//! Makes prompts from random words, text blocks, data sets, traces and conversations. The crate also contains
//! the tokenizers, which count tokens and convert between tokens and text.
//!
//! [`OpenWorkload::requests`] makes the requests of one pass. The same plan, files, [`PromptContext`] and
//! [`PromptScope`] give the same requests, on every machine and with any number of threads. All random
//! choices come from [`inferometer_model::stats::seed`]. The crate sends no request to the measured server: only
//! [`fetch`] and [`tokenizer::hub`] use the network.

pub mod error;

pub mod fetch;
pub mod tokenizer;

mod batch;
mod context;
mod data_set;
mod fit;
mod left_out;
mod note;
mod parallel;
mod scope;
mod workload;

mod adapters;
mod agents;
pub mod blocks;
pub mod conversation;
pub mod drawn;
pub mod jobs;
mod media;
mod random;
pub mod replay;
pub mod rows;
pub mod sharegpt;
pub mod trace;

mod registry;

pub use adapters::AdapterMix;
pub use context::PromptContext;
pub use data_set::{MAX_FILE_BYTES as MAX_DATA_SET_BYTES, check as check_data_set};
pub use error::{TraceError, WorkloadError};
pub use left_out::{LeftOut, Reason};
pub use media::MediaMaker;
pub use note::Note;
pub use registry::{OpenWorkload, has_messages, prepare};
pub use scope::{PromptForm, PromptScope};
pub use tokenizer::{HfTokenizer, embedded, load};
pub use workload::{
    Beyond, History, JobsNeeded, PassJobs, RequestBatch, RequestsNeeded, TooLong, Workload,
};

use inferometer_plan::WorkloadPlan;

use random::RandomWords;
use workload::WorkloadDefinition;

/// The definition of a plan's workload. A new workload has its module above, and its arm here.
fn definition(plan: &WorkloadPlan) -> Box<dyn WorkloadDefinition + '_> {
    match plan {
        WorkloadPlan::Random => Box::new(RandomWords),
        WorkloadPlan::Drawn(plan) => Box::new(plan.clone()),
        WorkloadPlan::Classes(plan) => Box::new(plan.clone()),
        WorkloadPlan::Prefix(plan) => Box::new(plan.clone()),
        WorkloadPlan::Rows(plan) => Box::new(plan.clone()),
        WorkloadPlan::Replay { dataset } => Box::new(replay::Definition { dataset }),
        WorkloadPlan::Trace(plan) => Box::new(plan.clone()),
        WorkloadPlan::Agents(plan) => Box::new(plan.clone()),
        WorkloadPlan::Conversation(plan) => Box::new(plan.clone()),
        WorkloadPlan::Sharegpt { dataset } => Box::new(sharegpt::Cut { dataset }),
        WorkloadPlan::ServingRun { dataset, limits } => {
            Box::new(sharegpt::FirstTurnsDefinition { dataset, limits: *limits })
        }
        WorkloadPlan::Blocks { corpus, template, max_output_tokens, .. } => {
            Box::new(blocks::Definition { corpus, template, max_output_tokens: *max_output_tokens })
        }
    }
}
