//! Tests of the prompts of a pass, with the public interface of the crate.

mod awkward;
mod blocks;
mod conversation;
mod drawn;
mod fetch;
mod golden;
mod prompts;
mod replay;
mod rows;
mod serving;
mod sharegpt;
mod support;
mod trace;
