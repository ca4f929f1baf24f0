//! Summarises the metrics that the server and the cards reported during a pass. The times of the samples are on the
//! clock of the run. This module reads no metrics itself.

mod cards;
mod server;

pub use cards::{CardUse, Energy, EnergyUnknown, FRESH_READINGS, HardwareUse};
pub use server::{Instant, Level, ServerLatency, ServerMetrics, SourceMetrics};

#[cfg(test)]
mod tests;
