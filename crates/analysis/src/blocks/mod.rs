//! Text blocks: a corpus cut into blocks of n characters, each put into a template that asks for about m
//! characters. The published record of SUS-Chat-34B was measured with such blocks. Also how well a model's answers
//! have the requested length.
//!
//! Lengths are characters here (Unicode scalar values); the server counts the tokens. This
//! module reads no corpus and no file, and contains no texts of a report.

mod figures;
mod fold;
mod keeping;

pub use figures::{BlockFigures, FIELDS, Field};
pub use fold::BlockFold;
pub use keeping::{Answer, LengthFigures, RULES, Rule};

#[cfg(test)]
mod tests;
