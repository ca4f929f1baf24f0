//! What prompts of seeded words are like, as data: lengths that vary, and beginnings that are
//! shared.

use serde::{Deserialize, Serialize};

use inferometer_load::distribution::Distribution;

/// Random words with lengths of their own, or with a beginning that all prompts share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DrawnPlan {
    /// Prompt tokens, those of the shared beginning included.
    pub input: Lengths,
    /// Output tokens.
    pub output: Lengths,
    /// Tokens of the beginning that all prompts of a pass share.
    pub prefix_length: u32,
}

/// Where the lengths of requests come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lengths {
    /// The cell's length, and every length around it up to this share of it, as likely.
    Around {
        /// From 0, which is the length itself, to below 1.
        ratio: f64,
    },
    /// A distribution of its own.
    Drawn(Distribution),
    /// A file of lengths and how often each occurs.
    Histogram {
        /// The file.
        file: String,
    },
}

impl Lengths {
    /// Whether the cell says nothing of them.
    pub fn is_own(&self) -> bool {
        !matches!(self, Self::Around { .. })
    }
}

/// Prompts in groups that share a beginning, and prompts that share none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrefixPlan {
    /// Groups of a pass.
    pub groups: u32,
    /// Tokens of the beginning that a group shares.
    pub prefix_length: u32,
    /// How uneven groups are: group k of k = 1, 2, ... is asked for in proportion to k^-zipf. At
    /// 0 all groups have equally many prompts.
    pub zipf: f64,
    /// The share of requests that belong to a group. The others have a beginning of their own.
    pub warm_share: f64,
}
