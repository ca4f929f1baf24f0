//! The prompts of a pass, as a user of the crate meets them.

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
