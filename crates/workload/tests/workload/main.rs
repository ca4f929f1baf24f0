//! The prompts of a pass, as a user of the crate meets them.

mod awkward;
mod golden;
mod prompts;
mod sharegpt;
mod support;
