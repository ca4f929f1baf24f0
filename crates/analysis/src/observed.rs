//! What the server and the cards say of themselves while a pass runs: samples on the run's time
//! axis, as they are stored, and what a summary makes of them. Nothing is asked for here.

mod cards;
mod server;

pub use cards::{CardUse, Energy, FRESH_READINGS, HardwareUse};
pub use server::{Instant, Level, ServerLatency, ServerSays, SourceSays};

#[cfg(test)]
mod tests;
