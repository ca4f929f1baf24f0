//! The embedded engine: a simulated serving engine with calibrated step costs.
//!
//! [`Engine`] combines the scheduler, the paged KV memory and the cost of steps. It has no clock and no input
//! or output. [`virtual_time`] runs the engine without waiting, for predictions. [`confidence`] and [`ranges`]
//! compute the uncertainty of predictions. [`fit`] fits the constants of the cost to measured rows. [`serve`]
//! adds an HTTP front end, which makes the engine a server for tests of clients.

mod error;
mod noise;
mod weights;

pub mod card;
pub mod model;
pub mod profile;

mod config;

mod request;
mod step;

pub mod kv;
pub mod prefix_cache;

mod mixed_steps;

mod choose;
mod learned;
pub mod policy;
mod resolve;

mod reach;

mod capacity;
pub mod cost;

mod engine;
mod front_end;

mod output_lengths;
mod table;
pub mod virtual_time;

pub mod confidence;
pub mod fit;
pub mod ranges;
pub mod records;
pub mod text_blocks;

pub mod serve;

pub use capacity::{Memory, kv_blocks};
pub use choose::{choose, choose_from};
pub use config::{Dtype, EngineConfig, KvCacheDtype, Limits, ResolvedConfig};
pub use engine::Engine;
pub use error::EngineError;
pub use learned::{OwnProfile, ProfileNeed, learned};
pub use noise::{Burst, Drift, Noise, NoiseState, Pause, WarmUp};
pub use output_lengths::output_lengths;
pub use profile::Profile;
pub use request::{EngineRequest, Finish, Lengths, RequestId};
pub use step::{Stats, SteadySteps, Step, StepKind, StepOutput};
pub use table::{TableRow, lengths, table, table_with_mean_output};
pub use virtual_time::{Clients, Feed, TokenArrival, VirtualRecord, simulate, simulate_with};
pub use weights::Weights;
