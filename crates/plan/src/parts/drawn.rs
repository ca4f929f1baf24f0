//! The properties of prompts from seeded words, as data: lengths that vary, and shared prefixes.

use serde::{Deserialize, Serialize};

use inferometer_load::distribution::Distribution;

/// Random words with lengths of their own, or with a prefix that all prompts share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DrawnPlan {
    /// Prompt tokens, including those of the shared prefix.
    pub input: Lengths,
    /// Output tokens.
    pub output: Lengths,
    /// Tokens of the prefix that all prompts of a pass share.
    pub prefix_length: u32,
}

/// The source of the lengths of requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lengths {
    /// The cell's length plus or minus up to this share of it, every length with the same probability.
    Around {
        /// From 0 (exactly the cell's length) to below 1.
        ratio: f64,
    },
    /// A distribution of its own.
    Drawn(Distribution),
    /// A file of lengths, with how often each occurs.
    Histogram {
        /// The file.
        file: String,
    },
}

impl Lengths {
    /// Whether they do not depend on the cell.
    pub fn is_own(&self) -> bool {
        !matches!(self, Self::Around { .. })
    }
}

/// Prompts in groups with a shared prefix, and prompts that share none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrefixPlan {
    /// The number of groups in a pass.
    pub groups: u32,
    /// Tokens of the prefix that a group shares.
    pub prefix_length: u32,
    /// How uneven groups are: group k of k = 1, 2, ... gets requests in proportion to k^-zipf. With 0,
    /// all groups get the same number of prompts.
    pub zipf: f64,
    /// The share of requests that belong to a group. The others have a prefix of their own.
    pub warm_share: f64,
}
