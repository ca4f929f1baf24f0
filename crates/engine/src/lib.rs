//! The embedded engine: a model of a serving engine as a pure function with a calibrated cost.
//!
//! [`Engine`] is the scheduler, the paged KV memory and the cost of steps, without a clock. Played
//! in [`virtual_time`] it predicts a grid in milliseconds; [`fit`] makes its constants of measured
//! rows. Behind the HTTP front of [`serve`] it is a server that clients can be tested against.

pub mod card;
pub mod model;
pub mod profile;

mod config;
mod error;
mod hub_config;

pub mod cost;
pub mod kv;
pub mod policy;
pub mod prefix_cache;

mod capacity;
mod engine;
mod output_lengths;

pub mod confidence;
pub mod fit;
pub mod records;
pub mod text_blocks;
pub mod virtual_time;

pub mod serve;

pub use capacity::kv_blocks;
pub use config::{Dtype, EngineConfig, Limits, Resolved};
pub use engine::{Engine, Finish, RequestId, Stats, Step, StepKind, StepOutput};
pub use error::EngineError;
pub use output_lengths::output_lengths;
pub use virtual_time::{
    Asked, Lengths, TableRow, TokensAt, VirtualRecord, lengths, simulate, simulate_seen, table,
    table_ending,
};
