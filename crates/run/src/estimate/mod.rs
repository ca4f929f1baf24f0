//! What a plan will need: time, requests and memory, estimated before the run.

pub(crate) mod bound;
pub mod duration;
pub(crate) mod memory;
pub(crate) mod server_speed;
