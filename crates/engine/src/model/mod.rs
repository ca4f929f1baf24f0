//! The sizes of models that determine memory and work. Weights are never loaded.

mod hub_config;
pub mod layout;
mod registry;
mod spec;
mod windows;

pub use registry::{built_in, model, models};
pub use spec::{Experts, Mlp, ModelSpec, RopeLengths, Windows};
