//! One pass: the load generator on its network, on one or several event loops.

pub mod event_loops;
pub(crate) mod network;
mod process_watch;
pub mod runner;
