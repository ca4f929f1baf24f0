//! The records of a run on their way from the load generator to the log, and the figures of a pass.

pub mod header;
pub mod pass_figures;
pub mod queue;
pub mod recorder;
pub(crate) mod resumed_cell;
