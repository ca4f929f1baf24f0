//! Logs and tables in the formats of published measurements, and tables of the same figures for reports.
//! No figure is computed here.

mod keeping;
mod log;
mod serving_run;
mod sizes;

pub use log::log;
pub use sizes::tables as size_tables;

pub(crate) use keeping::{keeping, rules};
pub(crate) use serving_run::serving_run;
pub(crate) use sizes::blocks;

use inferometer_analysis::{Cell, PassSummary, Summary, blocks::BlockFigures};

/// The passes over text blocks, in the order in which they were carried out.
pub(crate) fn passes(summary: &Summary) -> Vec<(&Cell, &PassSummary, &BlockFigures)> {
    summary.passes().filter_map(|(cell, pass)| Some((cell, pass, pass.blocks.as_ref()?))).collect()
}
