//! The work of a step: everything that its cost depends on. Values only.

/// The work of one step: everything that its cost depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StepShape {
    /// Prompts are computed.
    Prompt {
        /// Number of prompts.
        sequences: u32,
        /// The tokens of the longest prompt; the others are padded to it.
        longest: u32,
        /// The sum of the squares of their lengths.
        squares: u64,
    },
    /// Chunks of prompts are computed together with decoding sequences.
    Mixed {
        /// Number of sequences.
        sequences: u32,
        /// The number of these sequences for which more than one token is computed.
        prompts: u32,
        /// The number of tokens that are computed.
        rows: u32,
        /// The number of sequences that get a token.
        sampled: u32,
        /// The number of tokens whose keys and values are read, by decoding sequences and by later chunks of prompts.
        context: u64,
        /// The sum over chunks of prompts: the square of the position of their end, minus that of their beginning.
        squares: u64,
    },
    /// Every sequence gets a token.
    Decode {
        /// Number of sequences.
        sequences: u32,
        /// The tokens of all sequences, including those whose keys and values this step computes.
        context: u64,
        /// The number of these tokens that are output.
        generated: u64,
    },
}
