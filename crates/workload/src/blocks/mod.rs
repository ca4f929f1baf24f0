//! Text blocks: a corpus cut into blocks of n characters, each in a template that asks for a text
//! of about m characters. Lengths are characters, never bytes.
//!
//! Blocks are dealt in a seeded order that depends on the salt of the run, and begin at characters
//! of their own: until a corpus is used up, no two blocks of a run share a character, and beyond
//! that none begins where another did, so that a prefix cache answers none of them.

mod corpus;
mod deal;

pub use corpus::{Corpus, LeftOut};
pub(crate) use deal::Deal;
