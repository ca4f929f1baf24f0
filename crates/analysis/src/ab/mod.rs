//! Compares two servers in alternating blocks. This module decides which server comes first in each pair, when the
//! comparison ends, and what the answer is. It sends no requests: other modules measure the blocks.
//!
//! A block is a pass on one server, and the unit of all statistics. [`Ab`] asks for one pair of blocks after the other,
//! with one block on each server, and receives the measured blocks ([`Block`]). The comparison ends when the answer is
//! known or a limit is reached. docs/ab.md describes the method with its sources.

mod answer;
mod answering;
mod block;
mod decision;
mod order;
mod outlying;
mod procedure;
mod sentence;
mod sequence;

pub use answer::{AbAnswer, AbBlock, AbFigureAnswer, AbSide, AbStep, chart_points};
pub use answering::Sides;
pub use block::{Block, BlockFold};
pub use decision::{AbDecision, AbEnding};
pub use order::{Side, order};
pub use procedure::{Ab, NextStep};
pub use sequence::{FEWEST_PAIRS, FEWEST_PAIRS_WITHOUT_DIFFERENCE, LEVEL, MeanEstimate, estimate};
