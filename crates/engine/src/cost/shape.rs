//! The work of a step. This file contains no logic.

/// The work of one step: everything that the cost of the step depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StepShape {
    /// The step computes whole prompts.
    Prompt {
        /// Number of prompts.
        sequences: u32,
        /// The tokens of the longest prompt; the others are padded to it.
        longest: u32,
        /// The sum of the squares of the prompt lengths.
        squares: u64,
    },
    /// The step computes chunks of prompts, alone or together with decoding sequences.
    Mixed {
        /// Number of sequences.
        sequences: u32,
        /// The number of these sequences for which more than one token is computed.
        prompts: u32,
        /// The number of tokens that are computed.
        rows: u32,
        /// The number of sequences that get a token.
        sampled: u32,
        /// The number of tokens whose keys and values are read: the tokens of decoding sequences, and the tokens before
        /// each chunk of a prompt. If some layers have sliding-window attention, this number is summed over layers. The
        /// same applies to `squares` and to the context of a decode step.
        context: u64,
        /// The sum of end^2 - begin^2 over all chunks of prompts, from position `begin` to position `end` in the
        /// prompt.
        squares: u64,
    },
    /// Each sequence computes one token.
    Decode {
        /// Number of sequences.
        sequences: u32,
        /// The tokens of all sequences, including those whose keys and values this step computes.
        context: u64,
        /// The number of output tokens among these tokens.
        generated: u64,
    },
}
