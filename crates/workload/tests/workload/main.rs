//! The prompts of a pass, as a user of the crate meets them.

mod awkward;
mod conversation;
mod blocks;
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
