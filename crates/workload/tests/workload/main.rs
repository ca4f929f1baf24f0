//! The prompts of a pass, as a user of the crate meets them.

mod awkward;
mod conversation;
mod drawn;
mod golden;
mod prompts;
mod replay;
mod rows;
mod sharegpt;
mod support;
mod trace;
