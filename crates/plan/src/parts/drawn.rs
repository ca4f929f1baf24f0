//! The resolved options of prompts of seeded words: lengths that vary, and shared prefixes.

use std::fmt;

use serde::{Deserialize, Serialize};

use inferometer_model::load::distribution::Distribution;

/// The options of random prompts with lengths that vary, or with one shared prefix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DrawnPlan {
    /// Prompt tokens. With [`Lengths::Around`], they include the shared prefix; otherwise the prefix comes
    /// in addition.
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
    /// The length of the cell, plus or minus a random part of it. For prompts, the tokens of a shared prefix are
    /// subtracted first, and added after the draw. All lengths in this range are equally likely.
    Around {
        /// The largest deviation, as a share of the length: from 0 (no variation) to below 1.
        ratio: f64,
    },
    /// A distribution that does not depend on the cell.
    Drawn(Distribution),
    /// A file with lengths and the frequency of each length.
    Histogram {
        /// The file.
        file: String,
    },
    /// One of the two lengths of pairs. Then both axes have the same pairs, and each request has one pair.
    Pairs(Vec<LengthPair>),
}

/// An input length and an output length that requests have together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LengthPair {
    /// Prompt tokens, without a shared prefix.
    pub input: Distribution,
    /// Output tokens.
    pub output: Distribution,
    /// The weight of the pair; its share of the requests is its weight divided by the sum of all weights.
    pub weight: f64,
}

impl fmt::Display for LengthPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = |length: &Distribution| match length {
            Distribution::Normal { mean, deviation } => format!("{mean}|{deviation}"),
            other => other.to_string(),
        };
        write!(f, "{} x {}", length(&self.input), length(&self.output))
    }
}

impl Lengths {
    /// Whether the lengths are independent of the cell.
    pub fn is_own(&self) -> bool {
        !matches!(self, Self::Around { .. })
    }
}

/// The options of prompts in groups. All prompts of a group share a prefix. Prompts without a group
/// share no prefix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrefixPlan {
    /// The number of groups in a pass.
    pub groups: u32,
    /// Tokens of the prefix that a group shares.
    pub prefix_length: u32,
    /// How uneven groups are. The expected number of requests of group k = 1, 2, ... is proportional to
    /// k^-zipf. With 0, the numbers of requests of two groups differ by at most 1.
    pub zipf: f64,
    /// The share of requests that belong to a group, from 0 to 1. All other requests share no prefix.
    pub warm_share: f64,
}
