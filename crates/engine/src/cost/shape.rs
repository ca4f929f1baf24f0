//! The work of a step: all that its cost depends on. Values only.

/// The work of one step: all that its cost depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StepShape {
    /// Prompts are computed.
    Prompt {
        /// Number of prompts.
        sequences: u32,
        /// Tokens of the longest; the others are padded to it.
        longest: u32,
        /// Sum of the squares of their lengths.
        squares: u64,
    },
    /// Prompts are computed in parts, beside sequences that each get a token.
    Mixed {
        /// Number of sequences.
        sequences: u32,
        /// Those of them of which more than one token is computed.
        prompts: u32,
        /// Tokens that are computed.
        rows: u32,
        /// Sequences that get a token.
        sampled: u32,
        /// Tokens whose keys and values decoding and later parts of prompts read.
        context: u64,
        /// Sum over parts of prompts of the square of the tokens at their end less that at their
        /// beginning.
        squares: u64,
    },
    /// Every sequence gets a token.
    Decode {
        /// Number of sequences.
        sequences: u32,
        /// Tokens of all of them, those included whose keys and values this step makes.
        context: u64,
        /// Those of them that are output.
        generated: u64,
    },
}
