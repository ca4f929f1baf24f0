//! Text blocks: a corpus cut into blocks of n characters, each put into a template that asks for
//! about m characters; what the published record of SUS-Chat-34B measures by, and how far a model
//! keeps to the length that it was asked for.
//!
//! Lengths are characters here, Unicode scalar values; tokens are what the server counts. Never
//! here: a corpus, a file, the words of a report.

mod figures;
mod fold;
mod keeping;

pub use figures::{BlockFigures, FIELDS, Field};
pub use fold::BlockFold;
pub use keeping::{Answer, Keeping, RULES, Rule};

#[cfg(test)]
mod tests;
