//! Figures of passes over text blocks: a corpus is cut into blocks of n characters, and a template asks for about m
//! characters of answer to each block. The published record of SUS-Chat-34B was measured in this way. This module also
//! counts how often the answers of a model have the requested length.
//!
//! Lengths are in characters here (Unicode scalar values); the server counts the tokens. This module reads no file, and
//! writes no text of a report.

mod figures;
mod fold;
mod keeping;

pub use figures::{BlockFigures, FIELDS, Field};
pub use fold::BlockFold;
pub use keeping::{Answer, LengthFigures, RULES, Rule};

#[cfg(test)]
mod tests;
