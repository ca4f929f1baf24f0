//! Compares two servers in alternating blocks: decides which server comes first in each pair, when the comparison ends,
//! and the answer. It sends nothing: other modules measure the blocks and report them here.
//!
//! A block is a pass on one server, and the unit of all statistics. An [`Ab`] requests pairs of blocks, one block on
//! each server. It gets the measured blocks ([`Block`]), and ends when the answer is known or a limit is reached.
//! docs/ab.md describes the method with its sources.

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
pub use outlying::CODES;
pub use procedure::{Ab, NextStep};
pub use sequence::{FEWEST_PAIRS, FEWEST_PAIRS_WITHOUT_DIFFERENCE, LEVEL, MeanEstimate, estimate};
