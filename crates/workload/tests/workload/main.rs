//! Tests of the crate through its public interface.

mod agents;
mod awkward;
mod blocks;
mod conversation;
mod drawn;
mod fetch;
mod golden;
mod jobs;
mod prompts;
mod replay;
mod rows;
mod serving;
mod sharegpt;
mod support;
mod trace;
mod trace_unstated;
