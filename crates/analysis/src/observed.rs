//! What the server and the cards report about themselves during a pass: stored samples on the run's
//! clock, and their summaries. Asks for nothing itself.

mod cards;
mod server;

pub use cards::{CardUse, Energy, FRESH_READINGS, HardwareUse};
pub use server::{Instant, Level, ServerLatency, ServerSays, SourceSays};

#[cfg(test)]
mod tests;
