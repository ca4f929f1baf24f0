//! Text blocks: a corpus cut into blocks of n characters, each put into a template that asks for about m
//! characters. The published record of SUS-Chat-34B measures with them. Also how well a model's answers
//! have the requested length.
//!
//! Lengths are characters here (Unicode scalar values); the server counts the tokens. Never here: a
//! corpus, a file, the words of a report.

mod figures;
mod fold;
mod keeping;

pub use figures::{BlockFigures, FIELDS, Field};
pub use fold::BlockFold;
pub use keeping::{Answer, Keeping, RULES, Rule};

#[cfg(test)]
mod tests;
